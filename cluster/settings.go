package cluster

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/kvcache"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/setting"
)

// BucketSettings are an item of `cluster.buckets:` (spec/buckets.md 2).
type BucketSettings struct {
	Name           string `yaml:"name" json:"name" doc:"name in files and tables: letters, digits, - _ ."`
	InputLengthMin int    `yaml:"input_length_min" json:"input_length_min" doc:"shortest prompt it is for, tokens"`
	InputLengthMax *int   `yaml:"input_length_max" json:"input_length_max" doc:"longest prompt it is for, tokens, itself inside; null: no limit"`
	NumInstances   int    `yaml:"num_instances" json:"num_instances" doc:"instances of the engine in this bucket"`
}

// MaxInstances bounds what a slip of the finger can ask for.
const MaxInstances = 1_000_000

// bucketName is what file names and CSV cells can hold.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// CheckInstances notes a problem unless n is a number of instances.
func CheckInstances(p *setting.Problems, field string, n int) {
	p.Check(n >= 1 && n <= MaxInstances, field, n, fmt.Sprintf("a number of instances, from 1 to %d", MaxInstances))
}

// CheckBuckets reports everything that is wrong with a list of buckets as a
// [setting.Error] below buckets (spec/buckets.md 2, rules 1 to 5).
func CheckBuckets(buckets []BucketSettings) error {
	var p setting.Problems
	p.Check(len(buckets) > 0, "buckets", "an empty list", "at least one bucket, or null")
	named := map[string]int{}
	for i := range buckets {
		b := &buckets[i]
		at := fmt.Sprintf("buckets.%d.", i)
		p.Check(bucketName.MatchString(b.Name) && strings.Trim(b.Name, ".") != "", at+"name", fmt.Sprintf("%q", b.Name), "a name of letters, digits, -, _ and ., not of . alone")
		if first, twice := named[b.Name]; twice {
			p.Check(false, at+"name", b.Name, fmt.Sprintf("a name of its own: buckets[%d] has this one", first))
		}
		named[b.Name] = i
		p.Check(b.InputLengthMin >= 0 && b.InputLengthMin <= math.MaxInt32, at+"input_length_min", b.InputLengthMin, "a number of tokens, at least 0")
		if top := b.InputLengthMax; top != nil {
			p.Check(*top >= 0 && *top < routing.Unlimited, at+"input_length_max", *top, "a number of tokens, at least 0, or null")
			p.Check(*top < 0 || b.InputLengthMin <= *top, at+"input_length_min", b.InputLengthMin,
				fmt.Sprintf("at most the input_length_max of bucket %s, %d", b.Name, *top))
		}
		CheckInstances(&p, at+"num_instances", b.NumInstances)
	}
	if p.Err() == nil {
		checkOverlaps(&p, buckets)
	}
	return p.Err()
}

// checkOverlaps reports ranges that share a length.
func checkOverlaps(p *setting.Problems, buckets []BucketSettings) {
	for i := range buckets {
		for j := range i {
			a, b := buckets[j].bucket(), buckets[i].bucket()
			low, high := max(a.Min, b.Min), min(a.Max, b.Max)
			if low > high {
				continue
			}
			p.Check(false, fmt.Sprintf("buckets.%d", i), Range(b.Min, b.Max),
				fmt.Sprintf("a range that no other bucket shares: %s and %s share %s", a.Name, b.Name, Range(low, high)))
		}
	}
}

// Range is a range of lengths in words: 0..100, or 101.. without an upper end.
func Range(low, high int32) string {
	if high == routing.Unlimited {
		return fmt.Sprintf("%d..", low)
	}
	return fmt.Sprintf("%d..%d", low, high)
}

// bucket is the bucket as routers know it, without what all have in common.
func (b *BucketSettings) bucket() routing.Bucket {
	top := int32(routing.Unlimited)
	if b.InputLengthMax != nil {
		top = int32(*b.InputLengthMax)
	}
	return routing.Bucket{Name: b.Name, Min: int32(b.InputLengthMin), Max: top}
}

// ByLength is buckets, which are valid, in order of their ids, and their ranges.
func ByLength(buckets []BucketSettings) ([]BucketSettings, []routing.Bucket) {
	sorted := slices.SortedFunc(slices.Values(buckets), func(a, b BucketSettings) int { return cmp.Compare(a.InputLengthMin, b.InputLengthMin) })
	ranges := make([]routing.Bucket, len(sorted))
	for i := range sorted {
		ranges[i] = sorted[i].bucket()
		ranges[i].ID = int32(i)
	}
	return sorted, ranges
}

// MetaStoreSettings are the keys of `cluster.meta_store:`. Zero values are not
// defaults; start from [MetaStoreDefaults].
type MetaStoreSettings struct {
	TTLSeconds      *float64 `yaml:"ttl_seconds" json:"ttl_seconds" doc:"how long others see a block after it was published or used last, s; null: for ever"`
	WithdrawDelayMs *float64 `yaml:"withdraw_delay_ms" json:"withdraw_delay_ms" doc:"how long they see one that has been evicted, ms; null: until it expires"`
}

// MetaStoreDefaults are the defaults of DESIGN.md 6.
func MetaStoreDefaults() MetaStoreSettings {
	ttl, delay := 1000.0, 0.0
	return MetaStoreSettings{&ttl, &delay}
}

// Validate reports every wrong setting as a [setting.Error] (rule 12).
func (s *MetaStoreSettings) Validate() error {
	var p setting.Problems
	if ttl := s.TTLSeconds; ttl != nil {
		p.Check(*ttl > 0 && *ttl <= math.MaxFloat64/1000, "ttl_seconds", *ttl, "a finite number above 0, or null")
	}
	if delay := s.WithdrawDelayMs; delay != nil {
		p.Check(*delay >= 0 && *delay <= math.MaxFloat64, "withdraw_delay_ms", *delay, "a finite number, at least 0, or null")
	}
	return p.Err()
}

// visibility is what the settings mean to a directory.
func (s *MetaStoreSettings) visibility() kvcache.Visibility {
	v := kvcache.Visibility{TTLMs: math.Inf(1), WithdrawMs: math.Inf(1)}
	if s.TTLSeconds != nil {
		v.TTLMs = 1000 * *s.TTLSeconds
	}
	if s.WithdrawDelayMs != nil {
		v.WithdrawMs = *s.WithdrawDelayMs
	}
	return v
}

// CacheSettings are the keys of `cluster.cache:`: the tiers below an instance's KV
// pool. Zero values are not defaults; start from [CacheDefaults].
type CacheSettings struct {
	L1Blocks        int          `yaml:"l1_blocks" json:"l1_blocks" doc:"blocks in the host memory of an instance; 0: no such tier"`
	L1GBps          setting.Rate `yaml:"l1_gbps" json:"l1_gbps" doc:"host memory to device, 10^9 bytes/s; 0: no such tier, .inf: at once"`
	L1Scope         string       `yaml:"l1_scope" json:"l1_scope" doc:"who shares the host memory: nobody" enum:"instance"`
	RemoteGBps      setting.Rate `yaml:"remote_gbps" json:"remote_gbps" doc:"between two instances of a bucket, 10^9 bytes/s; 0: none fetches from another, .inf: at once"`
	RemoteLatencyUs float64      `yaml:"remote_latency_us" json:"remote_latency_us" doc:"until the first byte of a run of blocks from one owner comes, µs"`
	LoadPolicy      string       `yaml:"load_policy" json:"load_policy" doc:"always: load what is found; cheaper: only if that takes less time than to compute it" enum:"always,cheaper"`
	Storage         *string      `yaml:"storage" json:"storage" doc:"tier below the host memory; null: none"`
}

// CacheDefaults are the defaults of DESIGN.md 6.
func CacheDefaults() CacheSettings {
	return CacheSettings{L1GBps: 32, L1Scope: "instance", RemoteLatencyUs: 10, LoadPolicy: "always"}
}

// Validate reports every wrong setting as a [setting.Error] (rule 12).
func (s *CacheSettings) Validate() error {
	var p setting.Problems
	p.Check(s.L1Blocks >= 0 && s.L1Blocks <= math.MaxInt32, "l1_blocks", s.L1Blocks, "a number of blocks, or 0")
	p.Check(s.L1GBps >= 0, "l1_gbps", s.L1GBps, "a number, at least 0")
	p.Check(s.L1Scope == "instance", "l1_scope", s.L1Scope, "instance")
	p.Check(s.RemoteGBps >= 0, "remote_gbps", s.RemoteGBps, "a number, at least 0")
	p.Check(s.RemoteLatencyUs >= 0 && s.RemoteLatencyUs <= math.MaxFloat64, "remote_latency_us", s.RemoteLatencyUs, "a finite number, at least 0")
	p.Check(s.LoadPolicy == "always" || s.LoadPolicy == "cheaper", "load_policy", s.LoadPolicy, "one of always, cheaper")
	p.Check(s.Storage == nil, "storage", "a tier", "null: there is none below the host memory")
	return p.Err()
}

// Host and Remote are whether the tier is on.
func (s *CacheSettings) Host() bool   { return s.L1Blocks > 0 && s.L1GBps > 0 }
func (s *CacheSettings) Remote() bool { return s.RemoteGBps > 0 }

// Tiers is what the settings, which are valid, mean to a bucket whose blocks hold
// blockSize tokens of tokenBytes bytes.
func Tiers(s *CacheSettings, m *MetaStoreSettings, blockSize int, tokenBytes float64) *TierSettings {
	t := &TierSettings{
		BlockSize: blockSize, Remote: s.Remote(), Cheaper: s.LoadPolicy == "cheaper", Visibility: m.visibility(),
		Wires: Wires{
			BlockBytes: float64(blockSize) * tokenBytes,
			HostGBps:   float64(s.L1GBps), RemoteGBps: float64(s.RemoteGBps), RemoteLatMs: s.RemoteLatencyUs / 1000,
		},
	}
	if s.Host() {
		t.HostBlocks = s.L1Blocks
	}
	return t
}
