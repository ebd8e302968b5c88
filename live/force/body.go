package force

import (
	"encoding/json"
	"strconv"
)

// object appends the members of a JSON object. Ids are appended digit by digit: a
// prompt of 100,000 is half a megabyte (spec/live.md F.2).
type object struct {
	text []byte
	some bool
}

// begin opens an object.
func begin(dst []byte) object { return object{text: append(dst, '{')} }

func (o *object) key(name string) {
	if o.some {
		o.text = append(o.text, ',')
	}
	o.some = true
	o.text = append(strconv.AppendQuote(o.text, name), ':')
}

func (o *object) raw(name string, value []byte) {
	o.key(name)
	o.text = append(o.text, value...)
}

func (o *object) int(name string, value int) {
	o.key(name)
	o.text = strconv.AppendInt(o.text, int64(value), 10)
}

func (o *object) bool(name string, value bool) {
	o.key(name)
	o.text = strconv.AppendBool(o.text, value)
}

func (o *object) string(name, value string) {
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings have no errors
	}
	o.raw(name, quoted)
}

func (o *object) ids(name string, ids []uint32) {
	o.key(name)
	o.text = append(o.text, '[')
	for i, id := range ids {
		if i > 0 {
			o.text = append(o.text, ',')
		}
		o.text = strconv.AppendUint(o.text, uint64(id), 10)
	}
	o.text = append(o.text, ']')
}

// open starts a member that is an object; its shut goes on with the outer one.
func (o *object) open(name string) object {
	o.key(name)
	return begin(o.text)
}

// shut goes on behind an inner object.
func (o *object) shut(inner object) { o.text = append(inner.text, '}') }

// end closes the object.
func (o *object) end() []byte { return append(o.text, '}') }

// form appends what all modes say about the form of the answer and about the call's
// place among others.
func (o *object) form(c *Call) {
	o.bool("stream", c.Stream)
	if c.Stream {
		options := o.open("stream_options")
		options.bool("include_usage", true)
		o.shut(options)
	}
	if c.Salt != "" {
		o.string("cache_salt", c.Salt)
	}
	if c.Priority != 0 {
		o.int("priority", int(c.Priority))
	}
}
