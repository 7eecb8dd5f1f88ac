import Glibc
import Testing
import UsherConfig
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("Subordinate ids at the door", .timeLimit(.minutes(2)))
struct SubordinateAdmissionTests {
  @Test(
    "a connection by a subordinate id does not escape a rule about its user, or about one of them",
    arguments: [[4000], [4000, 4001], [4001, 4000]])
  func rule(owners: [UInt32]) async throws {
    let stage = try SafeStage()
    let safe = try await stage.begun()
    var config = stage.world.settings.inForce.config
    config.clients = [
      ClientRule(
        name: "kiosk", match: ClientMatch(user: .id(4000)),
        allow: [try AccessPattern(setting: "account.list")])
    ]
    // This process is a member of access.group, or root.
    let names = PrincipalResolver(user: { _ in nil }, group: { _ in getegid() })
    stage.world.settings.replace(by: config, try Policy(config, daemonUser: 990, names: names))
    let loop = try SocketLoop()
    let door = Door(
      service: RPCService(safe), realm: DaemonSetting.realm, count: safe.life.count,
      open: safe.life.connections)
    func reply() async throws -> String {
      let (near, far) = try FarEnd.pair()
      _ = far.send(Array(#"{"jsonrpc":"2.0","id":1,"method":"flow.list"}"#.utf8) + [0x0A])
      far.finish()
      _ = try await loop.submit { door.admit(near, on: loop, isAdmin: false) }
      return String(decoding: try await far.receiveAll(), as: UTF8.self)
    }
    let own = try await reply()
    // The user database of the test does not know it: the rules are asked first.
    #expect(!own.contains("you may not call"), "\(own)")
    let lines = owners.map { "\($0):\(getuid()):1" }
    door.apply(SubordinateUsers(lines.joined(separator: "\n")))
    let subordinate = try await reply()
    #expect(subordinate.contains("you may not call flow.list"), "\(subordinate)")
    await safe.end()
    await loop.stop()
  }
}
