package checker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	h "github.com/onejob-go/onejob/faults/history"
)

// explain tells how far an order of the operations goes that explains the
// replies, and which operations fit nowhere after that.
func explain(ops []porcupine.Operation) string {
	_, info := porcupine.CheckOperationsVerbose(model, ops, 20*time.Second)
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[string]bool{}
	name := func(o porcupine.Operation) string {
		return fmt.Sprint(o.Input.(h.Call).ID, " ", o.Output.(*h.Reply) == nil)
	}
	var j job
	for _, o := range longest {
		placed[name(o)] = true
		_, j = step(j, o.Input.(h.Call), o.Output.(*h.Reply))
	}
	var left []porcupine.Operation
	for _, o := range ops {
		if !placed[name(o)] {
			left = append(left, o)
		}
	}
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	var b strings.Builder
	fmt.Fprintf(&b, "%d operations fit; then the job is %+v\nand none of these comes next:", len(longest), j)
	for _, o := range left[:min(4, len(left))] {
		call, _ := json.Marshal(o.Input)
		reply, _ := json.Marshal(o.Output)
		fmt.Fprintf(&b, "\n  %s → %s", call, reply)
	}
	return b.String()
}
