package routing

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/reprise-sim/reprise/token"
)

// rendezvousSeed seeds all hashes of affinity (spec/buckets.md 5).
const rendezvousSeed = 1337

// rendezvous ranks targets for a key, the owner first: by weight, largest first. A
// target that comes or goes moves no key between the others.
//
//	weight(key, target) = XXH3-64 (seed 1337) of (key, target), 8 bytes little-endian each
type rendezvous struct{ ranking[uint64] }

func (o *rendezvous) of(v View, key uint64) []int32 {
	return o.ranking.of(v, func(i int) uint64 { return ^weight(key, i) })
}

func weight(key uint64, target int) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], key)
	binary.LittleEndian.PutUint64(b[8:], uint64(target))
	return xxh3.HashSeed(b[:], rendezvousSeed)
}

// sessionKey is the key of a session.
func sessionKey(session string) uint64 { return xxh3.HashStringSeed(session, rendezvousSeed) }

// prefixKey is the key of a prefix with these block keys.
func prefixKey(keys []token.Key) uint64 {
	var stack [16 * 8]byte
	b := stack[:0]
	for _, key := range keys {
		b = binary.LittleEndian.AppendUint64(b, uint64(key))
	}
	return xxh3.HashSeed(b, rendezvousSeed)
}
