import Glibc
import Logging
import NIOCore
import NIOPosix
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A state directory, and the daemon without its sockets, again and again.
final class SafeStage: Sendable {
  static let passcode = Secret("till-4711")

  let place: Workplace
  let clock = FakeClock()
  let alarms: FakeAlarms
  let setting: DaemonSetting
  let world: World

  /// - Parameter holdsAlarms: Whether alarms go off only when the test says so; else in their time,
  ///   whatever the clock shows.
  init(holdsAlarms: Bool = false) throws {
    place = try Workplace()
    alarms = FakeAlarms(clock)
    var config = Config()
    config.providers = [try .sample()]
    var setting = DaemonSetting(
      config: config, stateDirectory: place.path, socketPath: place.file("u.sock"),
      adminSocketPath: place.file("a.sock"))
    setting.clock = clock
    self.setting = setting
    let loop = MultiThreadedEventLoopGroup.singleton.any()
    world = World(
      config: config, clock: clock, entropy: SystemEntropy(),
      alarms: holdsAlarms ? alarms : EventLoopAlarms(on: loop))
  }

  /// A daemon that has begun, as after a start.
  func begun() async throws -> Safe {
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let safe = try Safe(Lifetime(setting, world, on: MultiThreadedEventLoopGroup.singleton, log))
    try await safe.begin()
    await safe.resume()
    return safe
  }

  /// Gives a person of this store a passcode that is cheap to check.
  func setPasscode(_ store: Store, of owner: Owner = .anna) async throws {
    let desk = LocalAuthDesk.fake(world, store, FakeReader())
    _ = try await desk.setPasscode(
      Self.passcode, old: nil, isReset: true, of: LocalPerson(realm: owner.realm, uid: owner.uid))
  }

  var databasePath: String { setting.databasePath }
}

extension Safe {
  func domain() throws -> Domain {
    guard let opened else { throw TestTrouble("it is locked") }
    return opened.parts.domain
  }
}
