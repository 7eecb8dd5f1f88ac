import Foundation
import JSONRPC
import UsherTestKit

/// A booted system with usherd as its service, the rules of Access.md, and several users.
///
/// There is one for each kernel, booted when the first test needs it.
final class AccessFixture: @unchecked Sendable {
  /// The kernels, which differ in how the daemon identifies the calling process.
  enum Kernel: String, CaseIterable, Sendable {
    case current
    case older = "one before 6.5"
  }

  typealias Connecting = () throws -> RawClient

  static func on(_ kernel: Kernel) throws -> AccessFixture {
    switch kernel {
    case .current: try current.get()
    case .older: try old.get()
    }
  }

  private static let current = Result { try AccessFixture(.current) }
  private static let old = Result { try AccessFixture(.older) }

  let system: BootedSystem
  private let lock = NSLock()
  private var callers: [String: Connecting] = [:]
  private var sockets = 0

  private init(_ kernel: Kernel) throws {
    system = try BootedSystem(binding: [
      "/usr/bin/usherd": BuiltProduct.path("usherd"),
      "/usr/bin/usherctl": BuiltProduct.path("usherctl"),
      "/usr/bin/usher-sandbox": BuiltProduct.path("usher-sandbox"),
    ])
    try install(kernel)
    try configure()
    try system.run("systemctl", "daemon-reload")
    try system.run("systemctl", "start", "usher-sandbox.service")
    do {
      try system.run("systemctl", "start", "usherd.socket", "usherd-admin.socket", "usherd.service")
    } catch {
      throw TestError("\(error): \(system.journal(of: "usherd.service"))")
    }
  }

  private func install(_ kernel: Kernel) throws {
    for unit in ["usherd.service", "usherd.socket", "usherd-admin.socket"] {
      try system.write(AccessPage.file("Units/\(unit)"), to: "/etc/systemd/system/\(unit)")
    }
    try system.write(
      AccessPage.file("Units/usherd.sysusers"), to: "/usr/lib/sysusers.d/usherd.conf")
    try system.write(
      AccessPage.file("Units/usherd.tmpfiles"), to: "/usr/lib/tmpfiles.d/usherd.conf")
    try system.write(
      """
      u anna 4001
      u ben 4002
      u till 4003
      u pair 4004
      g clerks 4100
      m anna usher
      """, to: "/etc/sysusers.d/people.conf")
    try system.run("systemd-sysusers")
    try system.run("systemd-tmpfiles", "--create", "usherd.conf")
    try system.run("mkdir", "--mode=1777", Self.callersDirectory)
    for script in [TestScript.asUser, TestScript.takeNumber, Self.oldKernel] {
      try system.copy(script, to: Self.tools + (script as NSString).lastPathComponent)
    }
    for name in ["tool", "other"] {
      try system.run("cp", "/usr/bin/python3", Self.tools + name)
    }
    let start = kernel == .current ? "" : "/usr/bin/python3 \(Self.tools)old_kernel.py "
    try system.write(
      """
      [Service]
      ExecStart=
      ExecStart=\(start)/usr/bin/usherd --config /etc/usherd/usherd.toml
      Environment=USHER_PASSCODE_ROUNDS=1024
      """, to: "/etc/systemd/system/usherd.service.d/test.conf")
    try system.write(
      """
      [Service]
      ExecStart=/usr/bin/usher-sandbox --port 8765
      """, to: "/etc/systemd/system/usher-sandbox.service")
    // A user manager needs a runtime directory from logind, which does not run here.
    try system.write(
      """
      [Service]
      ExecStart=
      ExecStart=/usr/bin/install -d -m 0700 -o %i -g %i /run/user/%i
      ExecStop=
      """, to: "/etc/systemd/system/user-runtime-dir@.service.d/test.conf")
  }

  private func configure() throws {
    try system.write(
      """
      [log]
      level = "debug"

      [[provider]]
      name = "work"
      type = "oidc"
      issuer = "\(Self.issuer)"
      scopes = ["openid", "profile", "email", "offline_access"]
      client_id = "usher"

      """ + AccessPage.config, to: "/etc/usherd/usherd.toml")
  }

  static let issuer = "http://127.0.0.1:8765/oidc"
  static let tools = "/opt/usher-test/"
  static let callersDirectory = "/run/callers"
  static let socket = "/run/usherd/usherd.sock"

  private static let oldKernel = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("old_kernel.py").path
}

// MARK: - Accounts

extension AccessFixture {
  /// Returns the account that Access.md calls the desk's; signs in if there is none yet.
  func desksAccount() throws -> String {
    let client = try client("desk.service, run as till")
    let known = try client.call("account.list")["accounts"]?.arrayValue?.first?["id"]
    if let id = known?.stringValue { return id }
    let flow = try client.startFlow("work")
    guard let page = flow["step"]?["url"]?.stringValue,
      let back = try system.inNetwork({ try Person.decide(at: page).location })
    else { throw TestError("the flow has no page, or it did not redirect") }
    // The browser must run as the same user.
    try system.run(
      "setpriv", "--reuid=till", "--regid=till", "--clear-groups", "/usr/bin/python3",
      Self.tools + "as_user.py", "get", back)
    let end = try client.finished(flow)
    guard let id = end["result"]?["account"]?.stringValue else {
      throw TestError("the sign-in failed: \(String(decoding: end.encoded(), as: UTF8.self))")
    }
    return id
  }

  /// The id of an account that does not exist.
  static let nobodysAccount = "acc_00000000000000000000000000"

  /// Returns the method and the parameters of a call in Access.md, `METHOD [PROVIDER[/KIND]][,
  /// SOMEBODY's account]`.
  func parameters(of call: String) throws -> (method: String, params: JSONValue) {
    let parts = call.components(separatedBy: ", ")
    let words = parts[0].split(separator: " ").map(String.init)
    let about = words.dropFirst().first?.split(separator: "/").map(String.init) ?? []
    var params: JSONValue = [:]
    if let provider = about.first { params["provider"] = .string(provider) }
    if about.count > 1 {
      params["kind"] = .string(about[1])
      params["params"] = [:]
    }
    switch parts.dropFirst().first {
    case nil: break
    case "the desk's account": params["account"] = .string(try desksAccount())
    case "nobody's account": params["account"] = .string(Self.nobodysAccount)
    case let other?: throw TestError("Access.md has an unknown call: \(other)")
    }
    return (words[0], params)
  }
}

// MARK: - Callers

extension AccessFixture {
  func admin() throws -> RawClient { try RawClient(system.path("/run/usherd/usherd-admin.sock")) }

  /// Opens a connection of a caller that Access.md names.
  func client(_ who: String) throws -> RawClient {
    if let connecting = lock.withLock({ callers[who] }) { return try connecting() }
    let connecting = try Self.connecting(who, self)
    lock.withLock { callers[who] = connecting }
    return try connecting()
  }

  /// Returns a new path inside the system for a caller's socket.
  func newSocket() -> String {
    sockets += 1
    return "\(Self.callersDirectory)/\(sockets)"
  }

  /// Waits until a caller's socket exists inside the system, and returns how to connect to it.
  func connecting(to socket: String) throws -> Connecting {
    let path = system.path(socket)
    try eventually("the caller's socket \(socket) exists") {
      FileManager.default.fileExists(atPath: path)
    }
    return { try .waiting(for: path) }
  }
}
