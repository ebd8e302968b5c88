package record

import "sync"

// buffers are what answers are copied through.
var buffers bufferPool

// bufferPool keeps buffers for answers that pass.
type bufferPool struct{ pool sync.Pool }

const bufferSize = 32 << 10

func (p *bufferPool) Get() []byte {
	if b, ok := p.pool.Get().(*[bufferSize]byte); ok {
		return b[:]
	}
	return make([]byte, bufferSize)
}

func (p *bufferPool) Put(b []byte) { p.pool.Put((*[bufferSize]byte)(b)) }
