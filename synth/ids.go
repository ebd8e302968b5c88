package synth

// Block ids are valid everywhere in the trace and tell who shares a block
// (spec/replay.md 2.10). The spaces do not meet: a trace has fewer than 2^48 blocks
// of its own.
const (
	systemIDs = 0xCAC0 << 48 // | index of the block
	groupIDs  = 0xD00D << 48 // | group << 32 | index of the block in the group's prefix
	// Ids of blocks that no other task has count up from 1, task by task.
)

// maxGroups is how many groups the id space has; maxBlock keeps a block id's tokens
// far below the longest prompt.
const (
	maxGroups = 1 << 16
	maxBlock  = 1 << 20
)

// systemID is the id of a block of the prefix that all tasks share.
func systemID(block int32) uint64 { return systemIDs | uint64(block) }

// groupID is the id of a block of a group's prefix.
func groupID(group uint64, block int32) uint64 { return groupIDs | group<<32 | uint64(block) }

// blocks is the number of blocks that hold n tokens, the last one possibly cut.
func blocks(n, size int32) int32 { return int32((int64(n) + int64(size) - 1) / int64(size)) }
