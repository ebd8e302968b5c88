package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/go-zeromq/zmq4"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/reprise-sim/reprise/engine"
)

// KVEvents publishes over ZMQ which blocks instances hold, as vLLM does with
// --kv-events-config (spec/live.md A.11): frames of topic, sequence number (8 bytes,
// big-endian) and msgpack [time in s, events, rank 0]; an event is a map with a type.
// Each instance has a socket of its own, on the port behind that of the one before it.
// Times are those of the simulation.
//
// Tell is for the goroutine that owns the cluster. A subscriber that is too slow loses
// messages, which the sequence numbers tell.
type KVEvents struct {
	blocks  *blocks
	sockets []*socket // by instance
	replays []net.Addr
}

// socket publishes what happens on one instance.
type socket struct {
	zmq4.Socket
	queue   chan notice
	next    uint64
	backlog *backlog // nil: nobody can ask again
}

// notice is a payload with its number.
type notice struct {
	number  uint64
	payload []byte
}

// eventsAhead is how many messages wait for subscribers at most.
const eventsAhead = 4096

// NewKVEvents is a publisher of the first of n instances on an endpoint such as
// tcp://127.0.0.1:5557, of the others on the ports that follow; port 0 is a free one for
// each. It ends with ctx.
func NewKVEvents(ctx context.Context, endpoint string, n, blockSize int) (*KVEvents, error) {
	host, port, err := hostPort(endpoint)
	if err != nil {
		return nil, err
	}
	k := &KVEvents{blocks: newBlocks(blockSize)}
	for i := range n {
		s := &socket{Socket: zmq4.NewPub(ctx), queue: make(chan notice, eventsAhead)}
		if err := s.Listen("tcp://" + address(host, port, i)); err != nil {
			return nil, fmt.Errorf("instance %d: %w", i, err)
		}
		k.sockets = append(k.sockets, s)
		go s.publish(ctx)
	}
	return k, nil
}

// hostPort are the parts of an endpoint such as tcp://127.0.0.1:5557.
func hostPort(endpoint string) (host string, port int, err error) {
	rest, isTCP := strings.CutPrefix(endpoint, "tcp://")
	host, text, err := net.SplitHostPort(rest)
	if err != nil || !isTCP {
		return "", 0, fmt.Errorf("%s: want tcp://HOST:PORT", endpoint)
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("%s: want a port number", endpoint)
	}
	return host, port, nil
}

// address is where the i-th instance listens: ports follow one another, 0 is a free one.
func address(host string, port, i int) string {
	if port != 0 {
		port += i
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// Addresses are where the instances publish.
func (k *KVEvents) Addresses() []net.Addr {
	var list []net.Addr
	for _, s := range k.sockets {
		list = append(list, s.Addr())
	}
	return list
}

// publish sends what is in the queue.
func (s *socket) publish(ctx context.Context) {
	defer s.Close()
	for {
		select {
		case m := <-s.queue:
			number := binary.BigEndian.AppendUint64(nil, m.number)
			if s.Send(zmq4.NewMsgFrom(nil, number, m.payload)) != nil && ctx.Err() != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// Tell publishes what has happened to blocks of an instance, the i-th of the service.
func (k *KVEvents) Tell(i int, e *engine.BlockEvent, atMs float64) {
	event := k.blocks.event(i, e)
	if event == nil {
		return
	}
	payload, err := msgpack.Marshal([]any{atMs / 1000, []any{event}, 0})
	if err != nil {
		panic(err) // numbers and strings
	}
	s := k.sockets[i]
	n := notice{s.next, payload}
	if s.backlog != nil {
		s.backlog.add(n)
	}
	select {
	case s.queue <- n:
	default:
	}
	s.next++
}
