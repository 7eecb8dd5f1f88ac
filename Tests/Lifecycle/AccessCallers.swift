import Foundation
import JSONRPC
import UsherTestKit

// The callers, by their names in Access.md.
extension AccessFixture {
  static func connecting(_ who: String, _ fixture: AccessFixture) throws -> Connecting {
    guard let start = recipes[who] else {
      throw TestError("Access.md names an unknown caller: \(who)")
    }
    return try start(fixture)
  }

  private typealias Recipe = @Sendable (AccessFixture) throws -> Connecting

  private static let recipes: [String: Recipe] = [
    "till.service": { try $0.service("till.service", "--uid=till") },
    "kiosk.service, run as ben": { try $0.service("kiosk.service", "--uid=ben") },
    "front.service in shop-front.slice": {
      try $0.service("front.service", "--uid=till", "--slice=shop-front.slice")
    },
    "till@1.service": { try $0.templated("till@1.service") },
    "till@2.service": { try $0.templated("till@2.service") },
    "passing.service, with DynamicUser=": {
      try $0.service(
        "passing.service", "--property=DynamicUser=yes",
        "--property=ReadWritePaths=\(callersDirectory)")
    },
    "anna, of group usher": { try $0.service("anna.service", "--uid=anna") },
    "ben": { try $0.service("ben.service", "--uid=ben") },
    "ben, with clerks as a supplementary group": {
      try $0.service("clerk.service", "--uid=ben", "--property=SupplementaryGroups=clerks")
    },
    "pair": { try $0.service("pair.service", "--uid=pair") },
    "root": { try $0.service("root.service") },
    "root, in backup.service": { try $0.service("backup.service") },
    "root, in another pid namespace": { fixture in
      { try RawClient(fixture.system.path(socket)) }
    },
    "the daemon's user": { try $0.service("own.service", "--uid=usherd") },
    "the daemon's user, with the tool": {
      try $0.service("tool.service", "--uid=usherd", program: tools + "tool")
    },
    "the daemon's user, with the tool, which then runs another program": {
      try $0.service(
        "became.service", "--uid=usherd", program: tools + "tool",
        verb: ["become", "/usr/bin/python3"])
    },
    "the daemon's user, with another file at the tool's path": {
      try $0.service(
        "masked.service", "--uid=usherd",
        "--property=BindReadOnlyPaths=\(tools)other:\(tools)tool", program: tools + "tool")
    },
    "ben, with the tool": {
      try $0.service("ben-tool.service", "--uid=ben", program: tools + "tool")
    },
    "desk.service, run as till": { try $0.service("desk.service", "--uid=till") },
    "desk.service, a process of ben": {
      _ = try $0.client("desk.service, run as till")
      return try $0.moved(to: "/system.slice/desk.service", unit: "second.service", user: "ben")
    },
    "till, with no unit of a rule": { try $0.service("plain.service", "--uid=till") },
    "reader.service": { try $0.service("reader.service", "--uid=ben") },
    "chosen.service": { try $0.service("chosen.service", "--uid=ben") },
    "narrow.service": { try $0.service("narrow.service", "--uid=ben") },
    "asking.service": { try $0.service("asking.service", "--uid=ben") },
    "stranger.service": { try $0.service("stranger.service", "--uid=till") },
    "the admin socket": { fixture in { try fixture.admin() } },
    "till.service of the user manager of till": { try $0.usersUnit() },
    "till, in a control group till.service below user.slice": {
      try $0.moved(
        to: "/user.slice/user-4003.slice/session.scope/till.service", unit: "sliced.service")
    },
    "till, in a control group till.service below another unit": {
      try $0.moved(to: "/system.slice/sub.service/till.service", unit: "sub.service")
    },
    "till, moved into till.service, on the connection from before": {
      let fixture = $0
      let before = try fixture.service("early.service", "--uid=till")()
      // The answer shows that the daemon has identified the caller; the process is moved only then.
      _ = try before.call("system.status")
      _ = try fixture.client("till.service")
      try fixture.system.move(fixture.mainProcess(of: "early.service"), to: tillGroup)
      return { before }
    },
    "till, moved into till.service, on a new connection": {
      _ = try $0.client("till.service")
      return try $0.moved(to: tillGroup, unit: "late.service")
    },
    "ben, whose process number a process of till.service has now": {
      try $0.leftConnection(of: "ben", successor: "till.service")
    },
  ]

  private static let tillGroup = "/system.slice/till.service"
}

// MARK: - Processes of the callers

extension AccessFixture {
  /// Starts a transient service that relays connections to the daemon's socket.
  func service(
    _ unit: String, _ options: String..., program: String = "/usr/bin/python3",
    verb: [String] = ["relay"]
  ) throws -> Connecting {
    let listen = newSocket()
    try system.run(
      ["systemd-run", "--quiet", "--unit=\(unit)"] + options
        + ["--", program, Self.tools + "as_user.py"] + verb + [listen, Self.socket])
    return try connecting(to: listen)
  }

  func mainProcess(of unit: String) throws -> Int32 {
    guard let pid = Int32(try system.property("MainPID", of: unit)), pid > 0 else {
      throw TestError("\(unit) does not run: \(system.journal(of: unit))")
    }
    return pid
  }

  /// Starts an instance of a template unit that is installed as a file.
  private func templated(_ unit: String) throws -> Connecting {
    let relay = "/usr/bin/python3 \(Self.tools)as_user.py relay"
    try system.write(
      """
      [Service]
      User=till
      ExecStart=\(relay) \(Self.callersDirectory)/instance-%i \(Self.socket)
      """, to: "/etc/systemd/system/till@.service")
    try system.run("systemctl", "daemon-reload")
    try system.run("systemctl", "start", unit)
    let instance = unit.drop { $0 != "@" }.dropFirst().prefix { $0 != "." }
    return try connecting(to: "\(Self.callersDirectory)/instance-\(instance)")
  }

  /// Starts a service, and moves its process into another control group.
  private func moved(
    to group: String, unit: String, user: String = "till"
  ) throws -> Connecting {
    let connecting = try service(unit, "--uid=\(user)", "--property=Delegate=yes")
    let process = try mainProcess(of: unit)
    try system.move(process, to: group)
    guard try system.controlGroup(of: process) == group else {
      throw TestError("the process was not moved to \(group)")
    }
    return connecting
  }

  /// Starts `till.service` in the user manager of `till`.
  private func usersUnit() throws -> Connecting {
    try system.run("systemctl", "start", "user@4003.service")
    let listen = newSocket()
    try system.run(
      "setpriv", "--reuid=till", "--regid=till", "--init-groups", "env",
      "XDG_RUNTIME_DIR=/run/user/4003", "systemd-run", "--quiet", "--user", "--unit=till.service",
      "/usr/bin/python3", Self.tools + "as_user.py", "relay", listen, Self.socket)
    let made = try connecting(to: listen)
    let groups = try system.run(
      "find", "/sys/fs/cgroup/user.slice", "-path", "*/user@4003.service/*/till.service")
    guard !groups.isEmpty else { throw TestError("the unit has no control group of its own") }
    return made
  }

  /// Opens a connection whose caller ends before the daemon accepts it, and whose process number is
  /// then reused by a process of another unit.
  ///
  /// - Parameter user: The user of the successor.
  func leftConnection(
    of who: String, successor unit: String, user: String = "till"
  ) throws -> Connecting {
    _ = try client("till.service")
    let daemon = try mainProcess(of: "usherd.service")
    let listen = newSocket()
    // The stopped daemon accepts no connection meanwhile.
    try system.run("kill", "-STOP", "\(daemon)")
    defer { _ = try? system.run("kill", "-CONT", "\(daemon)") }
    let number = try system.run(
      "setpriv", "--reuid=\(who)", "--regid=\(who)", "--init-groups", "/usr/bin/python3",
      Self.tools + "as_user.py", "leave", listen, Self.socket
    ).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let pid = Int32(number) else { throw TestError("not a process id: \(number)") }
    try system.run(
      "systemd-run", "--quiet", "--unit=successor-\(pid).service", "/usr/bin/python3",
      Self.tools + "take_number.py", number,
      try system.run("id", "--user", user)
        .trimmingCharacters(in: .whitespacesAndNewlines), "/usr/bin/sleep", "600")
    try eventually("another process has the id \(number)") {
      (try? system.run("readlink", "/proc/\(pid)/exe")) == "/usr/bin/sleep\n"
    }
    try system.move(pid, to: "/system.slice/\(unit)")
    let left = try connecting(to: listen)()
    return { left }
  }
}
