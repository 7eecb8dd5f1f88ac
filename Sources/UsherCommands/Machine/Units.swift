import UsherCore

/// The daemon as systemd runs it.
struct Units {
  static let service = "usherd.service"
  private static let sockets = ["usherd.socket", "usherd-admin.socket"]
  /// systemd's own limits end sooner, and so does the longest drain.
  private static let limit = Duration.seconds(600)

  let environment: CommandEnvironment
  /// Whether it is the user's systemd.
  var isUsers = false

  private func systemctl(_ arguments: String...) async throws -> ToolEnding {
    try await systemctl(arguments)
  }

  private func systemctl(_ arguments: [String]) async throws -> ToolEnding {
    let scope = isUsers ? ["--user"] : []
    return try await environment.tools.run(
      environment.tools.find("systemctl"), scope + arguments, input: Secret(""), within: Self.limit)
  }

  var isActive: Bool {
    get async throws { try await systemctl("is-active", Self.service).status == 0 }
  }

  /// Whether any of it runs or listens.
  var isThere: Bool {
    get async throws {
      // One of them is enough for systemctl.
      try await systemctl(["is-active", Self.service] + Self.sockets).status == 0
    }
  }

  /// Stops the daemon in order, and its sockets, by which it would come back.
  ///
  /// A service that has failed is restarted by systemd, which starts its sockets and cancels a stop of
  /// them that is under way. The stop is then repeated, for about two seconds.
  func stop() async throws {
    let arguments = ["stop"] + Self.sockets + [Self.service]
    for _ in 0..<20 {
      let ending = try await systemctl(arguments)
      if ending.status == 0 { return }
      guard ending.words.hasSuffix("canceled.") else { throw Self.failed(arguments, ending) }
      try await environment.sleep(.milliseconds(100))
    }
    let ending = try await systemctl(arguments)
    guard ending.status == 0 else { throw Self.failed(arguments, ending) }
  }

  private static func failed(_ arguments: [String], _ ending: ToolEnding) -> Failure {
    Failure("systemctl \(arguments[0]) failed: \(ending.words)")
  }

  /// Starts the sockets alone; also for whoever gives up.
  func listen() async {
    _ = await Task { try? await systemctl(["start"] + Self.sockets) }.value
  }

  /// Starts the daemon, and its sockets; returns when it serves.
  ///
  /// - Throws: ``Failure`` with what the daemon itself said of why it cannot.
  func start() async throws {
    // It may have given up: too many failures in too short a time. It is no failure where not.
    _ = try await systemctl(["reset-failed"] + Self.sockets + [Self.service])
    try await begin(["start"] + Self.sockets + [Self.service])
  }

  /// Starts it anew; what was begun is finished first.
  func restart() async throws { try await begin(["restart", Self.service]) }

  private func begin(_ arguments: [String]) async throws {
    let ending = try await systemctl(arguments)
    guard ending.status != 0 else { return }
    throw try await why() ?? Self.failed(arguments, ending)
  }

  /// Why the service does not run: what it said last, or systemd could not do for it.
  ///
  /// - Returns: Nil where nobody said.
  func why() async throws -> Failure? {
    // It is started again by itself, and what it said is forgotten then until it says it again.
    for _ in 0..<20 {
      let ending = try await systemctl(
        "show", Self.service, "--property=StatusText,ExecMainStatus,ActiveState")
      let properties = Self.properties(ending.text)
      if ["active", "inactive"].contains(properties["ActiveState"]) { return nil }
      if properties["ExecMainStatus"] == "243" { return Self.credentials }
      if let text = properties["StatusText"], !text.isEmpty { return Failure(text) }
      try await environment.sleep(.milliseconds(100))
    }
    return nil
  }

  /// systemd's exit status 243: a credential that is there cannot be had.
  private static let credentials = Failure(
    "systemd cannot hand over the daemon's credentials",
    hints: [
      "usherctl setup says whether it is the master key, and usherctl recover mends that",
      "else: journalctl -u usherd.service",
    ])

  private static func properties(_ text: String) -> [String: String] {
    text.split(separator: "\n").reduce(into: [:]) { properties, line in
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { properties[String(parts[0])] = String(parts[1]) }
    }
  }
}
