import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Hardening of the unit usherd.service", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct HardeningTests {
  private let fixture: ServiceFixture

  init() throws { fixture = try ServiceFixture.here() }

  @Test(
    "systemd-analyze rates the exposure of usherd.service at most 1.4, and finds no fault in any unit"
  )
  func analysis() throws {
    _ = try fixture.client().call("system.status")
    let report = try fixture.system.run(
      "systemd-analyze", "security", "--no-pager", "usherd.service")
    let level = report.matches(of: /Overall exposure level for usherd.service: ([0-9.]+)/).first
    let exposure = try #require(level.flatMap { Double($0.1) }, "\(report)")
    #expect(exposure > 0 && exposure <= 1.4)
    for (place, options) in [("system", []), ("user", ["--user"])] {
      let units = ["usherd.service", "usherd.socket", "usherd-admin.socket"].map {
        "/usr/lib/systemd/\(place)/\($0)"
      }
      let verified = try fixture.outcome(
        ["env", "XDG_RUNTIME_DIR=/run", "systemd-analyze", "verify"] + options + units, input: "")
      #expect(verified.status == 0 && verified.output.isEmpty, "\(place): \(verified)")
    }
  }

  @Test("the hardened usherd distinguishes its callers by user, group and unit")
  func peers() throws {
    try fixture.write(
      config: ServiceFixture.provider() + """
        [[client]]
        name = "till"
        match = { unit = "till.service", user = "ben" }
        allow = ["account.list"]

        """)
    try fixture.system.run("systemctl", "restart", "usherd.service")
    let (ada, ben) = (
      try fixture.program(of: "ada", unit: "ada.service"),
      try fixture.program(of: "ben", unit: "ben.service")
    )
    #expect(try ada().call("account.list")["accounts"] == [])
    #expect(try ben().reason(of: "account.list") == "permission_denied")
    let till = try fixture.program(of: "ben", unit: "till.service")
    #expect(try till().call("account.list")["accounts"] == [])
    #expect(try till().reason(of: "flow.list") == "permission_denied")
    try fixture.signIn("ada", by: ada())
    #expect(try ada().call("account.list")["accounts"]?.arrayValue?.count == 1)
    #expect(try till().call("account.list")["accounts"] == [])
    // The redirect listener refuses the browser of another user.
    let flow = try ada().startFlow("work")
    let back = try fixture.wayBack(of: flow)
    let reply = try JSONValue(
      parsing: Array(
        fixture.run(as: "ben", "/usr/bin/python3", ServiceFixture.tools + "as_user.py", "get", back)
          .utf8))
    #expect(reply["status"] == 403, "\(reply.text)")
  }

  @Test(
    "usherd as a service can use the real fprintd only with the package's polkit rule",
    .enabled(
      if: FprintdUnderTest.isPossible, "NOT TESTED: Packaging/install-dependencies test"))
  func finger() throws {
    let reader = "/run/reader/socket"
    try fixture.system.copy(
      ServiceFixture.file("../UsherTestKit/fprintd.py"), to: ServiceFixture.tools + "fprintd.py")
    try fixture.system.write(
      """
      [Service]
      ExecStart=
      ExecStart=/usr/libexec/fprintd --no-timeout
      Environment=FP_DRIVERS_WHITELIST=virtual_device FP_VIRTUAL_DEVICE=\(reader)
      RuntimeDirectory=reader
      """, to: "/etc/systemd/system/fprintd.service.d/test.conf")
    try fixture.system.run("systemctl", "daemon-reload")
    try atReader("ready")
    try atReader("enrol", "ada", "right-index-finger", "hers")
    let ada = try fixture.program(of: "ada", unit: "finger.service")()
    for (print, isRight) in [("strangers", false), ("hers", true)] {
      let flow = try ada.startFlow(
        "local", "authenticate",
        params: [
          "localAuthType": "biometric", "reason": "open the till",
          "usePasscodeWhenFailed": false, "checkDomainStateChanged": false,
        ])
      #expect(flow["step"]?["scanning"] == true, "\(flow.text) \(fixture.journal)")
      try atReader("script", "SCAN \(print)")
      if isRight {
        let end = try ada.finished(flow)
        #expect(end["status"] == "succeeded" && end["result"]?["method"] == "biometric", "\(end)")
      } else {
        let next = try ada.call(
          "flow.wait",
          ["flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 50_000])
        #expect(next["flow"]?["problem"]?["reason"] == "not_recognised", "\(next.text)")
        _ = try ada.call("flow.cancel", ["flow": flow["id"] ?? .null])
      }
    }
    // Without the rule the reader is not ready, and polkit asks no other user for permission.
    let rule = try fixture.system.run(
      "find", "/usr/share/polkit-1/rules.d", "-name", "*usherd*.rules"
    ).trimmingCharacters(in: .whitespacesAndNewlines)
    try fixture.system.run("rm", rule)
    try fixture.system.run("systemctl", "restart", "polkit.service")
    let status = try ada.call("localAuth.status")
    #expect(status["biometric"]?["state"] != "ready", "\(status.text)")
  }

  private func atReader(_ words: String...) throws {
    try fixture.system.run(
      [
        "env", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket",
        "USHER_TEST_READER=/run/reader/socket", "/usr/bin/python3",
        ServiceFixture.tools + "fprintd.py",
      ] + words)
  }

  @Test("an HTTPS provider with a private CA is reached if ca_file names the CA, and not otherwise")
  func privateCA() throws {
    let place = ServiceFixture.tools
    try fixture.system.run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
      "-keyout", place + "key.pem", "-out", "/etc/usherd/ca.pem")
    try fixture.system.run(
      "systemd-run", "--quiet", "--unit=issuer.service", "/usr/bin/python3",
      place + "https_issuer.py", "8443", "/etc/usherd/ca.pem", place + "key.pem")
    try eventually("the provider listens") {
      (try? fixture.system.run(
        "curl", "--silent", "--cacert", "/etc/usherd/ca.pem", "https://localhost:8443/")) != nil
    }
    try fixture.write(
      config: ["trusting": "ca_file = \"/etc/usherd/ca.pem\"\n", "wary": ""].map { name, trust in
        """
        [[provider]]
        name = "\(name)"
        type = "oidc"
        issuer = "https://localhost:8443"
        client_id = "usher"
        \(trust)
        """
      }.joined())
    try fixture.system.run("systemctl", "restart", "usherd.service")
    let client = try fixture.client()
    let flow = try client.startFlow("trusting")
    #expect(
      flow["step"]?["url"]?.stringValue?.hasPrefix("https://localhost:8443/") == true,
      "\(flow.text) \(fixture.journal)")
    let wary = try fixture.admin().call("provider.check", ["provider": "wary"])
    #expect(wary["healthy"] == false && wary.text.contains("TLS"), "\(wary.text)")
  }
}
