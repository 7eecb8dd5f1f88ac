package import Testing

/// Runs each daemon and sandbox of a test as a program in a process of its own.
///
/// For tests of process properties: death, signals, memory, `/proc`, the identity of a peer.
package struct OwnProcess: SuiteTrait, TestTrait, TestScoping {
  @TaskLocal package static var isAsked = false

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    try await OwnProcess.$isAsked.withValue(true) { try await body() }
  }
}

extension Trait where Self == OwnProcess {
  /// The trait ``OwnProcess``, for tests that need a process of the daemon.
  package static var ownProcess: OwnProcess { OwnProcess() }
}
