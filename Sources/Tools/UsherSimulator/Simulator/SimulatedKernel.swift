/// The functions of the simulated kernel that the program is linked with. They are passed in, so
/// that a test can use this module without changing its own clocks and files.
package struct SimulatedKernel: Sendable {
  /// Sets the times that the C library returns, in nanoseconds.
  package var setTime: @Sendable (_ sinceBoot: UInt64, _ wall: UInt64) -> Void = { _, _ in }
  /// Returns the number of tasks and functions that did not run on the simulation's only thread.
  package var escapes: @Sendable () -> Int = { 0 }
  /// Says that a socket belongs to the simulated machine.
  package var ownSocket: @Sendable (_ descriptor: CInt) -> Void = { _ in }
  /// Ends the connections of the machine's sockets, as a kill of its process does.
  package var cutSockets: @Sendable () -> Void = {}
  package var disk = SimulatedDisk()

  package init() {}
}

/// The disk of the simulated machine. See CSimulatedKernel.h.
package struct SimulatedDisk: Sendable {
  package enum Failure: String, Sendable, CaseIterable {
    case stops, failsOnce, fails, noDescriptors
  }

  /// Simulates the files below a directory from now on.
  package var mount: @Sendable (_ directory: String) -> Void = { _ in }
  /// Copies the files to an empty directory, for the next process after a kill, and simulates the
  /// disk there.
  package var move: @Sendable (_ directory: String) -> Void = { _ in }
  /// Makes operations fail after so many that succeed.
  package var fail: @Sendable (Failure, _ after: UInt64) -> Void = { _, _ in }
  /// Leaves room for so many bytes more.
  package var fill: @Sendable (_ room: UInt64) -> Void = { _ in }
  /// Ends the failures, except those of a disk that has stopped, and the lack of room.
  package var heal: @Sendable () -> Void = {}
  package var hasStopped: @Sendable () -> Bool = { false }
  /// Returns the number of operations so far.
  package var operations: @Sendable () -> UInt64 = { 0 }
  /// Takes back a part of what was not synced.
  package var losePower: @Sendable (_ seed: UInt64) -> Void = { _ in }
}
