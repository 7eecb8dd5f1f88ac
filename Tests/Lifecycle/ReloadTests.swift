import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Reloading under systemd", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct ReloadTests {
  private let fixture: ServiceFixture

  init() throws { fixture = try ServiceFixture.here() }

  @Test("systemctl reload applies a changed configuration, also to open connections")
  func good() throws {
    try begin()
    let open = try fixture.client()
    #expect(try providers(open) == ["work"])
    let ben = try fixture.program(of: "ben", unit: "ben.service")()
    #expect(try ben.reason(of: "account.list") == "permission_denied")
    let process = try fixture.process()
    try fixture.write(
      config: ServiceFixture.provider() + ServiceFixture.provider("other") + """
        [[client]]
        name = "ben"
        match = { user = "ben" }
        allow = ["account.list"]

        """)
    try fixture.system.run("systemctl", "reload", "usherd.service")
    try fixture.daemon("has the second provider") {
      try providers(open) == ["other", "work"]
    }
    #expect(try ben.call("account.list")["accounts"] == [])
    try fixture.daemon("tells systemd that it is over") {
      try fixture.property("StatusText").contains("Serving 2 providers")
        && fixture.property("ActiveState") == "active"
    }
    #expect(try fixture.process() == process)
  }

  @Test(
    "a wrong configuration changes nothing; the journal and usherctl reload name its file and line")
  func bad() throws {
    try begin()
    let open = try fixture.client()
    try fixture.signIn(open)
    let token = try fixture.token(open)
    let process = try fixture.process()
    let wrong = ServiceFixture.provider() + "[limits]\nno_such_limit = 1\n"
    let line = wrong.split(separator: "\n", omittingEmptySubsequences: false)
      .firstIndex { $0.hasPrefix("no_such") }.map { $0 + 1 }
    let file = "/etc/usherd/conf.d/50-test.toml"
    let place = "\(file):\(try #require(line))"
    try fixture.write(config: wrong)
    _ = try fixture.outcome("systemctl", "reload", "usherd.service")
    try fixture.daemon("tells systemd that it failed") {
      try fixture.property("StatusText").lowercased().contains("reload failed")
        && fixture.property("ActiveState") == "active"
    }
    let told = try fixture.entries("USHER_FILE=\(file)")
    #expect(told.map { $0["USHER_LINE"] } == [.string("\(line ?? 0)")], "\(told)")
    let reload = try fixture.outcome("usherctl", "reload")
    #expect(reload.status == 1 && reload.output.contains(place), "\(reload)")
    #expect(try providers(open) == ["work"] && fixture.token(open) == token)
    #expect(try fixture.process() == process)
    try fixture.write(config: ServiceFixture.provider())
    let mended = try fixture.outcome("usherctl", "reload")
    #expect(mended.status == 0, "\(mended)")
    try fixture.daemon("has the new status") {
      try fixture.property("StatusText").contains("Serving 1 provider")
    }
  }

  /// Restarts the daemon with the package's configuration and the first provider.
  private func begin() throws {
    try fixture.write(config: ServiceFixture.provider())
    try fixture.system.run("systemctl", "restart", "usherd.service")
  }

  private func providers(_ client: RawClient) throws -> [String] {
    (try client.call("system.status")["providers"]?.arrayValue ?? [])
      .compactMap { $0["name"]?.stringValue }.sorted()
  }
}
