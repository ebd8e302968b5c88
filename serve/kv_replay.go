package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"sync"

	"github.com/go-zeromq/zmq4"
)

// backlogLength is how many messages of an instance can be asked for again: vLLM's
// buffer_steps.
const backlogLength = 10_000

// backlog are the last messages of an instance, the oldest first.
type backlog struct {
	mu    sync.Mutex
	queue []notice
}

func (b *backlog) add(n notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 2*backlogLength { // half of it is out of reach
		b.queue = append([]notice(nil), b.queue[backlogLength:]...)
	}
	b.queue = append(b.queue, n)
}

// since are the messages from a number on, as far as they are kept.
func (b *backlog) since(number uint64) (found []notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.queue[max(0, len(b.queue)-backlogLength):] {
		if n.number >= number {
			found = append(found, n)
		}
	}
	return found
}

// Replay lets subscribers ask again for what they have missed, as vLLM does with a
// replay_endpoint (spec/live.md A.11): a ROUTER socket for each instance, on ports as
// those of the events. A request is an empty frame and a number (8 bytes, big-endian);
// answers are an empty frame, number and payload, from that number on, the last one with
// the number -1 and nothing in it. It has to be called before anything is told.
func (k *KVEvents) Replay(ctx context.Context, endpoint string) error {
	host, port, err := hostPort(endpoint)
	if err != nil {
		return err
	}
	for i, s := range k.sockets {
		router := zmq4.NewRouter(ctx)
		if err := router.Listen("tcp://" + address(host, port, i)); err != nil {
			return fmt.Errorf("instance %d: %w", i, err)
		}
		s.backlog = &backlog{}
		k.replays = append(k.replays, router.Addr())
		go s.backlog.serve(ctx, router)
	}
	return nil
}

// ReplayAddresses are where instances can be asked.
func (k *KVEvents) ReplayAddresses() []net.Addr { return k.replays }

// serve answers until ctx ends.
func (b *backlog) serve(ctx context.Context, router zmq4.Socket) {
	defer router.Close()
	for {
		m, err := router.Recv()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			continue // a client that went away
		}
		if len(m.Frames) != 3 || len(m.Frames[2]) != 8 {
			continue // vLLM does not answer that either
		}
		client := m.Frames[0]
		answer := func(n notice) {
			number := binary.BigEndian.AppendUint64(nil, n.number)
			router.Send(zmq4.NewMsgFrom(client, nil, number, n.payload)) // an error is a client that went away
		}
		for _, n := range b.since(binary.BigEndian.Uint64(m.Frames[2])) {
			answer(n)
		}
		answer(notice{number: math.MaxUint64})
	}
}
