// Package fit finds the weights of a latency model from measured passes.
//
// A [Sample] is what a pass should take by parts and what it took; [Solve] finds
// weights that are not negative, stay near what was believed before ([Prior]) and are
// not led astray by outliers; [CrossValidate] says how wrong they are on samples that
// were held out (spec/latency.md 4.4). [ReadPassLog] reads passes, [Card] is the model
// as a file with everything that is known of it.
//
// Results have the same bits on every machine. Engines and clusters are not known
// here.
package fit
