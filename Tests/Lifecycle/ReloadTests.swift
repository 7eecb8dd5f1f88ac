import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "reloading under systemd", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct ReloadTests {
  private let scene: ServiceScene

  init() throws { scene = try ServiceScene.here() }

  @Test("systemctl reload puts a changed configuration in force, on open connections, too")
  func good() throws {
    try begin()
    let open = try scene.client()
    #expect(try providers(open) == ["work"])
    let ben = try scene.program(of: "ben", unit: "ben.service")()
    #expect(try ben.reason(of: "account.list") == "permission_denied")
    let process = try scene.process()
    try scene.write(
      config: ServiceScene.provider() + ServiceScene.provider("other") + """
        [[client]]
        name = "ben"
        match = { user = "ben" }
        allow = ["account.list"]

        """)
    try scene.system.run("systemctl", "reload", "usherd.service")
    try scene.daemon("has the second provider") {
      try providers(open) == ["other", "work"]
    }
    #expect(try ben.call("account.list")["accounts"] == [])
    try scene.daemon("tells systemd that it is over") {
      try scene.property("StatusText").contains("Serving 2 providers")
        && scene.property("ActiveState") == "active"
    }
    #expect(try scene.process() == process)
  }

  @Test("a configuration that is wrong changes nothing, and it is said where, in each place")
  func bad() throws {
    try begin()
    let open = try scene.client()
    try scene.signIn(open)
    let token = try scene.token(open)
    let process = try scene.process()
    let wrong = ServiceScene.provider() + "[limits]\nno_such_limit = 1\n"
    let line = wrong.split(separator: "\n", omittingEmptySubsequences: false)
      .firstIndex { $0.hasPrefix("no_such") }.map { $0 + 1 }
    let file = "/etc/usherd/conf.d/50-test.toml"
    let place = "\(file):\(try #require(line))"
    try scene.write(config: wrong)
    _ = try scene.outcome("systemctl", "reload", "usherd.service")
    try scene.daemon("tells systemd that it failed") {
      try scene.property("StatusText").lowercased().contains("reload failed")
        && scene.property("ActiveState") == "active"
    }
    let told = try scene.entries("USHER_FILE=\(file)")
    #expect(told.map { $0["USHER_LINE"] } == [.string("\(line ?? 0)")], "\(told)")
    let reload = try scene.outcome("usherctl", "reload")
    #expect(reload.status == 1 && reload.output.contains(place), "\(reload)")
    #expect(try providers(open) == ["work"] && scene.token(open) == token)
    #expect(try scene.process() == process)
    try scene.write(config: ServiceScene.provider())
    let mended = try scene.outcome("usherctl", "reload")
    #expect(mended.status == 0, "\(mended)")
    #expect(try scene.property("StatusText").contains("Serving 1 provider"))
  }

  /// In force is what the package and the first provider say.
  private func begin() throws {
    try scene.write(config: ServiceScene.provider())
    try scene.system.run("systemctl", "restart", "usherd.service")
  }

  private func providers(_ client: RawClient) throws -> [String] {
    (try client.call("system.status")["providers"]?.arrayValue ?? [])
      .compactMap { $0["name"]?.stringValue }.sorted()
  }
}
