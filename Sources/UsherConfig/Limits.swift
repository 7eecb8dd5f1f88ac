/// `[limits]`: what a caller may ask of the daemon (RPC.md § Limits).
///
/// Over a limit a caller gets an error that names the key.
package struct Limits: SettingsSection {
  /// Bytes of the longest line a caller may send.
  package var maxLineBytes = 1_048_576
  /// How deep arrays and objects may stand inside each other in a message.
  package var nesting = 32
  /// Bytes of a call's parameters from the app socket; some methods take more.
  package var paramsBytes = 65_536
  /// Values in a call's parameters from the app socket: objects and arrays, and each value in them.
  package var paramsValues = 4096
  /// Seconds from a line's first byte to its end.
  package var lineSeconds = 10
  /// Calls in one batch.
  package var batch = 64
  /// Calls of one connection that are being worked on.
  package var callsInFlight = 64
  /// Calls of one user, on all its connections, that are being worked on.
  package var callsInFlightPerUser = 1024
  /// Connections of one user.
  package var connectionsPerUser = 256
  /// Subscriptions to events of one user, on all its connections.
  package var subscriptionsPerUser = 64
  /// Connections of all users.
  package var connections = 2048
  /// Connections of all callers together that nothing gives a right: one user can be many of them.
  package var unauthorizedConnections = 64
  /// How many of all connections only the admin socket may use.
  package var adminReserve = 8
  /// Percent of the event loop's time that one user's calls may take while others call.
  package var userSharePercent = 25
  /// Flows of one user that have not ended.
  package var liveFlowsPerUser = 1024
  /// Flows one user may start in a minute.
  package var flowStartsPerMinute = 30
  /// Questions of one user in a minute about who is registered at a provider.
  package var registrationChecksPerMinute = 30
  /// Questions of one user's programs that a person has not answered (Access, "A person agrees").
  package var openConfirmationsPerUser = 64
  /// Answers to such questions that are remembered for one user's programs.
  package var rememberedConfirmationsPerUser = 4096
  /// Bytes of replies a connection may leave unread before the daemon stops reading from it.
  package var unreadReplyBytes = 1_048_576
  /// Seconds a connection may leave that many unread before it is closed.
  package var unreadReplySeconds = 5
  /// Seconds that calls have to be answered when the daemon stops (Service, "Stopping, and starting
  /// again").
  package var drainSeconds = 10
  /// Seconds between two forced refreshes of one account.
  package var forceRefreshSeconds = 10
  /// Events kept for a subscriber that does not read; then it has lost some, and is told so.
  package var eventQueue = 256
  /// Accounts kept in memory; the others are read from the disk when they are asked for.
  package var accountsInMemory = 10_000
  /// Accounts that one list may tell of. `UsherClient` takes replies of 8 MiB, which 2000 accounts of
  /// 4 KiB each are.
  package var accountsInList = 2000
  /// Days in which a request id cannot be used for another flow.
  package var requestIdDays = 30
  /// Hours a flow and its result are kept after its end.
  package var finishedFlowHours = 24
  /// Flows of one user that have ended and are kept; beyond it the oldest are forgotten.
  package var finishedFlowsPerUser = 1000

  package init() {}

  package static var blank: Limits { Limits() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&maxLineBytes, "max_line_bytes", 4096...67_108_864)
    table.setting(&nesting, "nesting", 4...256)
    table.setting(&paramsBytes, "params_bytes", 4096...67_108_864)
    table.setting(&paramsValues, "params_values", 64...10_000_000)
    table.setting(&lineSeconds, "line_seconds", 1...300)
    table.setting(&batch, "batch", 1...1024)
    table.setting(&callsInFlight, "calls_in_flight", 1...4096)
    table.setting(&callsInFlightPerUser, "calls_in_flight_per_user", 1...65_536)
    table.setting(&connectionsPerUser, "connections_per_user", 1...65_536)
    table.setting(&subscriptionsPerUser, "subscriptions_per_user", 1...65_536)
    table.setting(&connections, "connections", 16...65_536)
    table.setting(&unauthorizedConnections, "unauthorized_connections", 1...65_536)
    table.setting(&adminReserve, "admin_reserve", 1...1024)
    table.setting(&userSharePercent, "user_share_percent", 1...100)
    table.setting(&liveFlowsPerUser, "live_flows_per_user", 1...1_000_000)
    table.setting(&flowStartsPerMinute, "flow_starts_per_minute", 1...100_000)
    table.setting(
      &registrationChecksPerMinute, "registration_checks_per_minute", 1...100_000)
    table.setting(&openConfirmationsPerUser, "open_confirmations_per_user", 1...4096)
    table.setting(
      &rememberedConfirmationsPerUser, "remembered_confirmations_per_user", 1...65_536)
    table.setting(&unreadReplyBytes, "unread_reply_bytes", 4096...67_108_864)
    table.setting(&unreadReplySeconds, "unread_reply_seconds", 1...300)
    table.setting(&drainSeconds, "drain_seconds", 1...300)
    table.setting(&forceRefreshSeconds, "force_refresh_seconds", 1...3600)
    table.setting(&eventQueue, "event_queue", 16...65_536)
    table.setting(&accountsInMemory, "accounts_in_memory", 16...10_000_000)
    table.setting(&accountsInList, "accounts_in_list", 1...100_000)
    table.setting(&requestIdDays, "request_id_days", 1...365)
    table.setting(&finishedFlowHours, "finished_flow_hours", 1...720)
    table.setting(&finishedFlowsPerUser, "finished_flows_per_user", 1...100_000)
    if adminReserve >= connections {
      table.complain("admin_reserve", "must be less than connections, which is \(connections)")
    }
  }
}
