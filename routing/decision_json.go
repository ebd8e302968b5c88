package routing

import (
	"encoding/json"
	"math"
	"strconv"
)

// AppendJSON appends the decision as a JSON object: to the byte what [json.Marshal]
// says of it, at a fraction of the time, but for numbers that are not finite and lists
// that are nil. These are null and [].
func (d *Decision) AppendJSON(b []byte) []byte {
	j := object{append(b, '{')}
	j.number("time_ms", d.TimeMs)
	j.text("request_id", d.RequestID)
	j.text("session_id", d.SessionID)
	j.integer("input_length", int64(d.InputLength))
	j.text("global_mode", d.GlobalMode)
	j.text("local_mode", d.LocalMode)
	j.optionalInteger("chosen_bucket", d.ChosenBucket)
	j.optionalText("chosen_bucket_name", d.ChosenBucketName)
	j.optionalInteger("chosen_instance", d.ChosenInstance)
	list(&j, "bucket_candidates", d.Buckets, (*BucketCandidate).appendTo)
	j.total("bucket_candidates_total", d.BucketsTotal)
	list(&j, "instance_candidates", d.Instances, (*InstanceCandidate).appendTo)
	j.total("candidates_total", d.InstancesTotal)
	j.text("global_reason", d.GlobalReason)
	j.optionalText("local_reason", d.LocalReason)
	j.optionalBool("length_bucket_match", d.LengthBucketMatch)
	j.number("probe_ms", d.ProbeMs)
	if d.ViewAgeMs != 0 {
		j.number("view_age_ms", d.ViewAgeMs)
	}
	j.integer("best_available_prefix_blocks", int64(d.BestAvailable))
	j.optionalInteger("regret_blocks", d.Regret)
	if len(d.Considered) > 0 {
		list(&j, "considered", d.Considered, func(id *int32, j *object) { j.b = strconv.AppendInt(j.b, int64(*id), 10) })
	}
	return append(j.b, '}')
}

func (c *BucketCandidate) appendTo(j *object) {
	j.b = append(j.b, '{')
	j.integer("bucket_id", int64(c.ID))
	j.text("name", c.Name)
	j.integer("input_length_min", int64(c.Min))
	j.optionalInteger("input_length_max", c.Max)
	j.integer("num_instances", int64(c.Instances))
	j.integer("queue_len_sum", int64(c.QueueSum))
	j.integer("queue_len_max", int64(c.QueueMax))
	j.integer("kv_blocks_used_sum", c.BlocksUsed)
	j.integer("kv_blocks_total_sum", c.BlocksTotal)
	j.integer("active_requests", int64(c.Active))
	j.integer("predicted_prefix_blocks", int64(c.PredictedPrefix))
	j.optionalNumber("estimated_drain_ms", c.DrainMs)
	j.number("length_penalty", c.LengthPenalty)
	j.number("load", c.Load)
	j.number("miss", c.Miss)
	j.optionalNumber("score", c.Score)
	j.b = append(j.b, '}')
}

func (c *InstanceCandidate) appendTo(j *object) {
	j.b = append(j.b, '{')
	j.integer("id", int64(c.ID))
	j.integer("queue_len", int64(c.Queue))
	j.integer("running", int64(c.Running))
	j.integer("kv_blocks_used", int64(c.BlocksUsed))
	j.number("load", c.Load)
	j.integer("prefix_blocks", int64(c.Prefix))
	j.optionalNumber("score", c.Score)
	j.optionalInteger("probed", c.Probed)
	j.b = append(j.b, '}')
}

// object is the text of an object that is being written.
type object struct{ b []byte }

// comma separates an element from the one before it.
func (j *object) comma() {
	if last := j.b[len(j.b)-1]; last != '{' && last != '[' {
		j.b = append(j.b, ',')
	}
}

// key begins a field; keys need no escaping.
func (j *object) key(name string) {
	j.comma()
	j.b = append(append(append(j.b, '"'), name...), `":`...)
}

func (j *object) null(key string) {
	j.key(key)
	j.b = append(j.b, "null"...)
}

func (j *object) integer(key string, v int64) {
	j.key(key)
	j.b = strconv.AppendInt(j.b, v, 10)
}

func (j *object) optionalInteger(key string, v *int32) {
	if v == nil {
		j.null(key)
		return
	}
	j.integer(key, int64(*v))
}

// total is left out if it is 0.
func (j *object) total(key string, v int) {
	if v != 0 {
		j.integer(key, int64(v))
	}
}

// number writes the shortest decimal that reads back to v, with an exponent where
// [json.Marshal] has one.
func (j *object) number(key string, v float64) {
	abs := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		j.null(key)
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		j.key(key)
		text, _ := json.Marshal(v)
		j.b = append(j.b, text...)
	default:
		j.key(key)
		j.b = strconv.AppendFloat(j.b, v, 'f', -1, 64)
	}
}

func (j *object) optionalNumber(key string, v *float64) {
	if v == nil {
		j.null(key)
		return
	}
	j.number(key, *v)
}

func (j *object) optionalBool(key string, v *bool) {
	if v == nil {
		j.null(key)
		return
	}
	j.key(key)
	j.b = strconv.AppendBool(j.b, *v)
}

func (j *object) text(key, v string) {
	j.key(key)
	for i := range len(v) {
		if c := v[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(v) // a string has no errors
			j.b = append(j.b, text...)
			return
		}
	}
	j.b = append(append(append(j.b, '"'), v...), '"')
}

func (j *object) optionalText(key string, v *string) {
	if v == nil {
		j.null(key)
		return
	}
	j.text(key, *v)
}

// list writes an array.
func list[E any](j *object, key string, elements []E, appendTo func(*E, *object)) {
	j.key(key)
	j.b = append(j.b, '[')
	for i := range elements {
		j.comma()
		appendTo(&elements[i], j)
	}
	j.b = append(j.b, ']')
}
