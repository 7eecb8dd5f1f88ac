import UsherCore

/// The systemd units of the daemon.
struct Units {
  static let service = "usherd.service"
  private static let sockets = ["usherd.socket", "usherd-admin.socket"]
  /// Upper bound for the duration of a systemctl command: longer than systemd's own time-outs and
  /// the daemon's longest drain.
  private static let limit = Duration.seconds(600)

  let environment: CommandEnvironment
  /// Whether the units belong to the user's systemd instead of the system's.
  var isUserScope = false

  private func systemctl(_ arguments: [String]) async throws -> ToolEnding {
    let scope = isUserScope ? ["--user"] : []
    return try await environment.tools.run(
      environment.tools.find("systemctl"), scope + arguments, input: Secret(""), within: Self.limit)
  }

  var isActive: Bool {
    get async throws { try await systemctl(["is-active", Self.service]).status == 0 }
  }

  /// Whether the service or one of its sockets is active.
  var isAnyActive: Bool {
    get async throws {
      // `systemctl is-active` succeeds if one of the units is active.
      try await systemctl(["is-active", Self.service] + Self.sockets).status == 0
    }
  }

  /// Stops the daemon, and its sockets, because they would start the daemon again.
  ///
  /// systemd restarts a failed service, which starts its sockets and cancels a stop job. The stop
  /// is then repeated, for about two seconds.
  func stop() async throws {
    let arguments = ["stop"] + Self.sockets + [Self.service]
    var ending = try await systemctl(arguments)
    for _ in 0..<20 where ending.status != 0 && ending.errorSummary.hasSuffix("canceled.") {
      try await environment.sleep(.milliseconds(100))
      ending = try await systemctl(arguments)
    }
    guard ending.status == 0 else { throw Self.failed(arguments, ending) }
  }

  private static func failed(_ arguments: [String], _ ending: ToolEnding) -> CommandFailure {
    CommandFailure("systemctl \(arguments[0]) failed: \(ending.errorSummary)")
  }

  /// Starts only the sockets. The call also works in a cancelled task.
  func startSockets() async {
    _ = await Task { try? await systemctl(["start"] + Self.sockets) }.value
  }

  /// Starts the daemon and its sockets; returns when the daemon is ready.
  ///
  /// - Throws: ``CommandFailure`` with the daemon's own message if it cannot start.
  func start() async throws {
    // After too many failures systemd refuses to start the unit until its counter is reset.
    _ = try await systemctl(["reset-failed"] + Self.sockets + [Self.service])
    try await runJob(["start"] + Self.sockets + [Self.service])
  }

  /// Restarts the daemon, which first completes the requests in progress.
  func restart() async throws { try await runJob(["restart", Self.service]) }

  private func runJob(_ arguments: [String]) async throws {
    let ending = try await systemctl(arguments)
    guard ending.status != 0 else { return }
    throw try await failureReason() ?? Self.failed(arguments, ending)
  }

  /// Returns why the service does not run: its last status text, or that systemd could not pass the
  /// credentials; nil if neither is known.
  func failureReason() async throws -> CommandFailure? {
    // systemd restarts the service, which clears its status text until the new process sets it.
    for _ in 0..<20 {
      let ending = try await systemctl([
        "show", Self.service, "--property=StatusText,ExecMainStatus,ActiveState",
      ])
      let properties = Self.properties(ending.text)
      if ["active", "inactive"].contains(properties["ActiveState"]) { return nil }
      if properties["ExecMainStatus"] == "243" { return Self.credentials }
      if let text = properties["StatusText"], !text.isEmpty { return CommandFailure(text) }
      try await environment.sleep(.milliseconds(100))
    }
    return nil
  }

  /// The failure for exit status 243 of systemd: a credential exists but cannot be read.
  private static let credentials = CommandFailure(
    "systemd cannot pass the daemon its credentials",
    hints: [
      "to see whether it is the master key, run: usherctl setup; usherctl recover repairs that",
      "otherwise see: journalctl -u usherd.service",
    ])

  private static func properties(_ text: String) -> [String: String] {
    text.split(separator: "\n").reduce(into: [:]) { properties, line in
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { properties[String(parts[0])] = String(parts[1]) }
    }
  }
}
