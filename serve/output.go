package serve

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// answerTo makes up n tokens of some words: the same ones for the same prompt and seed.
func answerTo(prompt []uint32, n int, words []uint32, seed uint64) []uint32 {
	r := rand.New(rand.NewPCG(seed, xxh3.HashSeed(bytesOf(prompt), seed)))
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = words[r.IntN(len(words))]
	}
	return ids
}

// salted is content that nobody shares who has another salt: a salt gives ids other
// names, which only the cache sees.
func salted(ids []uint32, salt string) []uint32 {
	if salt == "" {
		return ids
	}
	name := uint32(xxh3.HashString(salt))
	out := make([]uint32, len(ids))
	for i, id := range ids {
		out[i] = id ^ name
	}
	return out
}

// bytesOf is ids as 4 bytes each, little-endian.
func bytesOf(ids []uint32) []byte {
	b := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b
}
