// Package roofline prices passes from hardware and model.
//
// A [Model] adds up what package work says a pass computes, each operator at the
// speed that package kernel knows of the GPU, and what the engine costs besides
// ([Engine]). It is a [latency.Model]: sums in, milliseconds out, the same bits on
// every machine. What depends on the number of tokens alone is remembered by that
// number, so a pass of decodes costs a square root for each kind of attention.
//
// [Model.Explain] tells the same price operator by operator, [Model.Parts] by the
// groups that a calibration weighs ([Factors]).
package roofline
