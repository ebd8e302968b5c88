package livetest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// Network connects clients and servers in memory, so that a test can run in a bubble
// of package testing/synctest, in which nothing but time passes.
type Network struct {
	mu      sync.Mutex
	servers map[string]*listener // by host
}

// NewNetwork is a network without servers.
func NewNetwork() *Network { return &Network{servers: map[string]*listener{}} }

// Serve puts a server at http://host. stop takes it away.
func (n *Network) Serve(host string, h http.Handler) (stop func()) {
	l := &listener{host: host, connections: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	n.servers[host] = l
	n.mu.Unlock()
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l) // until Close
	}()
	return func() {
		n.mu.Lock()
		delete(n.servers, host)
		n.mu.Unlock()
		server.Close()
		<-done
	}
}

// Dial connects to the server of an address, whatever the port.
func (n *Network) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	l := n.servers[host]
	n.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: errors.New("connection refused")}
	}
	client, server := net.Pipe()
	select {
	case l.connections <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener is where a server takes its connections from.
type listener struct {
	host        string
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return memoryAddr(l.host) }

type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

// Start serves on a free port of this machine and returns the URL. stop takes it away.
func Start(h http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h}
	go server.Serve(l) // until Close
	return "http://" + l.Addr().String(), func() { server.Close() }, nil
}
