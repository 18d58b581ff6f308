package worker

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// use is what a process has open.
type use struct{ goroutines, descriptors int }

func inUse() (use, error) {
	open, err := os.ReadDir("/proc/self/fd")
	return use{runtime.NumGoroutine(), len(open)}, err
}

// back waits until no more is in use than before, but for some that are known,
// and tells what is left if it does not come to that.
func (before use) back(known int) error {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		now, err := inUse()
		if err != nil {
			return err
		}
		if now.goroutines <= before.goroutines+1 && now.descriptors <= before.descriptors+known {
			return nil
		}
		if time.Now().After(end) {
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			return fmt.Errorf("a leak: %+v before the store was opened, %+v after it was closed\n%s", before, now, &stacks)
		}
	}
}
