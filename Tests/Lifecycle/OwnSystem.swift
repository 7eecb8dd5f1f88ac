import Synchronization
import Testing
import UsherTestKit

/// Gives a suite a ``ServiceFixture``, which is booted when its first test needs it, and powered
/// off after its last test.
struct OwnSystem: SuiteTrait, TestScoping {
  fileprivate let config: String

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let place = ServiceDirectory(config)
    let result: Result<Void, any Error>
    do {
      result = .success(
        try await ServiceDirectory.$current.withValue(place) { try await function() })
    } catch {
      result = .failure(error)
    }
    try await unblocking { try place.end() }
    try result.get()
  }
}

extension Trait where Self == OwnSystem {
  /// - Parameter config: Configuration in addition to the package's.
  static func ownSystem(config: String = "") -> Self { Self(config: config) }
}

extension Trait where Self == ConditionTrait {
  static var whereSystemsBoot: Self {
    .enabled(
      if: BootedSystem.obstacle == nil,
      "NOT TESTED: no systemd can be booted here: \(BootedSystem.obstacle ?? "")")
  }
}

extension ServiceFixture {
  /// Returns the fixture of the current suite.
  static func here() throws -> ServiceFixture {
    guard let place = ServiceDirectory.current else {
      throw TestError("the suite lacks .ownSystem")
    }
    return try place.fixture()
  }
}

private final class ServiceDirectory: Sendable {
  @TaskLocal static var current: ServiceDirectory?

  private let config: String
  private let booted = Mutex<Result<ServiceFixture, any Error>?>(nil)

  init(_ config: String) { self.config = config }

  func fixture() throws -> ServiceFixture {
    try booted.withLock { booted in
      let result = booted ?? Result { try ServiceFixture(config: config) }
      booted = result
      return result
    }.get()
  }

  func end() throws {
    guard let fixture = try booted.withLock({ $0 })?.get() else { return }
    let status = try fixture.system.powerOff()
    guard status == 0 else { throw TestError("the booted system was not powered off: \(status)") }
  }
}
