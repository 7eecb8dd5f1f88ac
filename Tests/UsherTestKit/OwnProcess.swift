package import Testing

/// Has each daemon and sandbox of a test run as a program, in a process of its own.
///
/// For tests of what only a process has: death, signals, memory, `/proc`, a peer's identity.
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
  /// See ``OwnProcess``.
  package static var ownProcess: OwnProcess { OwnProcess() }
}
