package gateway

import "sync"

// reports counts what is under way. Any number may begin while somebody waits, which a sync.WaitGroup forbids.
type reports struct {
	mutex    sync.Mutex
	underWay int
	// idle is closed when nothing is under way any more; nil when nobody waits.
	idle chan struct{}
}

// begin runs a function beside its caller.
func (r *reports) begin(work func()) {
	r.mutex.Lock()
	r.underWay++
	r.mutex.Unlock()
	go func() {
		defer r.end()
		work()
	}()
}

func (r *reports) end() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.underWay--
	if r.underWay == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// wait returns once nothing is under way.
func (r *reports) wait() {
	r.mutex.Lock()
	if r.underWay == 0 {
		r.mutex.Unlock()
		return
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	idle := r.idle
	r.mutex.Unlock()
	<-idle
}
