/// Assigns a new value to a variable.
///
/// - Returns: The old value.
@inlinable
package func exchange<Value>(_ variable: inout Value, with new: Value) -> Value {
  defer { variable = new }
  return variable
}
