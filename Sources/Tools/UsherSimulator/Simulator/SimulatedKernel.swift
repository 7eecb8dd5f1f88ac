/// The functions of the simulated kernel that the program is linked with. They are passed in, so
/// that a test can use this module without changing its own clocks.
package struct SimulatedKernel: Sendable {
  /// Sets the times that the C library returns, in nanoseconds.
  package var setTime: @Sendable (_ sinceBoot: UInt64, _ wall: UInt64) -> Void
  /// Returns by how many nanoseconds reading the clocks has advanced them.
  package var elapsed: @Sendable () -> UInt64
  /// Returns the number of tasks and functions that did not run on the simulation's only thread.
  package var escapes: @Sendable () -> Int

  package init(
    setTime: @escaping @Sendable (UInt64, UInt64) -> Void,
    elapsed: @escaping @Sendable () -> UInt64, escapes: @escaping @Sendable () -> Int
  ) {
    self.setTime = setTime
    self.elapsed = elapsed
    self.escapes = escapes
  }
}
