// Command figures prints the table of what a run of the harness did, from the
// file that ONEJOB_FAULTS_FIGURES names. It fails if the run did too little.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/onejob-go/onejob/faults/figures"
)

func main() {
	f, err := os.Open(os.Getenv("ONEJOB_FAULTS_FIGURES"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures: set ONEJOB_FAULTS_FIGURES to the file of a run:", err)
		os.Exit(2)
	}
	defer f.Close()
	var entries []figures.Entry
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e figures.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(os.Stderr, "figures:", err)
			os.Exit(2)
		}
		entries = append(entries, e)
	}
	void := false
	fmt.Println("| figure | at least | reached |")
	fmt.Println("|---|---|---|")
	sums := figures.Sum(entries)
	for _, line := range figures.Table {
		want, mark := figures.N(line.CI, line.Soak), ""
		if sums[line.Name] < want {
			void, mark = true, " **too little**"
		}
		fmt.Printf("| %s | %d | %d%s |\n", line.Name, want, sums[line.Name], mark)
	}
	if void {
		fmt.Println("\nThe run did too little work: it is void, whatever its tests say.")
		os.Exit(1)
	}
}
