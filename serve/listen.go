package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/reprise-sim/reprise/simulate"
)

// Listen serves on a listener until closing is cancelled: then it takes no more
// requests and serves those that are open, or until now is cancelled, which ends them.
func Listen(l net.Listener, s *Server, b *Backend, closing, now context.Context) (simulate.End, error) {
	running, halt := context.WithCancel(context.Background())
	defer halt()
	var end simulate.End
	var failed error
	var backend sync.WaitGroup
	backend.Go(func() { end, failed = b.Run(running) })

	web := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	var broken error
	select {
	case broken = <-served:
	case <-closing.Done():
		web.Shutdown(now) // an error is that of now: what is open ends with the backend
	case <-b.stopped:
	}
	halt()
	backend.Wait()
	late, cancel := context.WithTimeout(context.Background(), time.Second) // for last words
	defer cancel()
	if web.Shutdown(late) != nil {
		web.Close()
	}
	if errors.Is(broken, http.ErrServerClosed) {
		broken = nil
	}
	return end, errors.Join(failed, broken)
}
