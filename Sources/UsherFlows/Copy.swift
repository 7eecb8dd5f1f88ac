/// Returns a copy of a value with a change, for values that are replaced as a whole, such as the
/// state of a machine.
func copy<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
  var copy = value
  change(&copy)
  return copy
}
