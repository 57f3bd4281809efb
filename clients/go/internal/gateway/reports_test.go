package gateway

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Whoever waits is back once all that had begun has ended.
func TestWhatIsUnderWayIsWaitedFor(t *testing.T) {
	var under reports
	under.wait()
	var ended atomic.Int32
	held := make(chan struct{})
	for range 3 {
		under.begin(func() {
			<-held
			ended.Add(1)
		})
	}
	var waiting sync.WaitGroup
	for range 2 {
		waiting.Go(func() {
			under.wait()
			if ended.Load() != 3 {
				t.Errorf("back after %d of 3", ended.Load())
			}
		})
	}
	close(held)
	waiting.Wait()
}

// Reports that begin while somebody waits are no data race, as an answer may end when a gateway stops.
func TestReportsMayBeginWhileSomebodyWaits(t *testing.T) {
	for range 100 {
		var under reports
		var beginning sync.WaitGroup
		begun, held := make(chan struct{}, 4), make(chan struct{})
		for range 4 {
			beginning.Go(func() {
				under.begin(func() { <-held })
				begun <- struct{}{}
			})
		}
		go func() {
			for range 4 {
				<-begun
			}
			close(held)
		}()
		under.wait()
		beginning.Wait()
		under.wait()
	}
}
