import Synchronization
import Testing
import UsherTestKit

/// Gives a suite a ``ServiceScene``, booted when its first test asks for it, and off when its last
/// has ended.
struct OwnSystem: SuiteTrait, TestScoping {
  fileprivate let config: String

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let place = ScenePlace(config)
    let result: Result<Void, any Error>
    do {
      result = .success(try await ScenePlace.$current.withValue(place) { try await function() })
    } catch {
      result = .failure(error)
    }
    try await unblocking { try place.end() }
    try result.get()
  }
}

extension Trait where Self == OwnSystem {
  /// - Parameter config: Over that of the package.
  static func ownSystem(config: String = "") -> Self { Self(config: config) }
}

extension Trait where Self == ConditionTrait {
  static var whereSystemsBoot: Self {
    .enabled(
      if: BootedSystem.obstacle == nil,
      "NOT TESTED: no systemd can be booted here: \(BootedSystem.obstacle ?? "")")
  }
}

extension ServiceScene {
  /// The suite's.
  static func here() throws -> ServiceScene {
    guard let place = ScenePlace.current else { throw TestError("the suite has no system") }
    return try place.scene()
  }
}

private final class ScenePlace: Sendable {
  @TaskLocal static var current: ScenePlace?

  private let config: String
  private let booted = Mutex<Result<ServiceScene, any Error>?>(nil)

  init(_ config: String) { self.config = config }

  func scene() throws -> ServiceScene {
    try booted.withLock { booted in
      let result = booted ?? Result { try ServiceScene(config: config) }
      booted = result
      return result
    }.get()
  }

  func end() throws {
    guard let scene = try booted.withLock({ $0 })?.get() else { return }
    let status = try scene.system.powerOff()
    guard status == 0 else { throw TestError("the system is not powered off: \(status)") }
  }
}
