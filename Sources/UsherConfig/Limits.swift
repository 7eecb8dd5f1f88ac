/// The section `[limits]`: limits on how callers may use the daemon.
///
/// A caller over a limit gets an error that names the setting.
package struct Limits: SettingsSection {
  /// The maximum number of bytes of a line that a caller sends.
  package var maxLineBytes = 1_048_576
  /// The maximum nesting depth of arrays and objects in a message.
  package var nesting = 32
  /// The maximum number of bytes of a call's parameters on the app socket; some methods accept
  /// more.
  package var paramsBytes = 65_536
  /// The maximum number of values in a call's parameters on the app socket, counting objects,
  /// arrays and every value in them.
  package var paramsValues = 4096
  /// The maximum number of seconds from the first byte of a line to its end.
  package var lineSeconds = 10
  /// The maximum number of calls in a batch.
  package var batch = 64
  /// The maximum number of calls in flight on a connection.
  package var callsInFlight = 64
  /// The maximum number of calls in flight of one user, over all its connections.
  package var callsInFlightPerUser = 1024
  /// The maximum number of connections of one user.
  package var connectionsPerUser = 256
  /// The maximum number of event subscriptions of one user, over all its connections.
  package var subscriptionsPerUser = 64
  /// The maximum number of connections of all users.
  package var connections = 2048
  /// The maximum number of connections of all callers without rights. They have one common limit
  /// because one user can have many uids (subordinate ids).
  package var unauthorizedConnections = 64
  /// The number of connections that only callers on the admin socket can use.
  package var adminReserve = 8
  /// The percentage of the event loop's time that the calls of one user may take while other users
  /// call.
  package var userSharePercent = 25
  /// The maximum number of unfinished flows of one user.
  package var liveFlowsPerUser = 1024
  /// The maximum number of flows that one user starts in a minute.
  package var flowStartsPerMinute = 30
  /// The maximum number of calls of `registration.checkDuplicate` and `registration.checkUserKey`
  /// in a minute by one user's programs (by uid) or by one client that owns its accounts. The calls
  /// tell whether an e-mail address, a phone number or a user key (a person's id at BSA) is
  /// registered.
  package var registrationChecksPerMinute = 30
  /// The maximum number of unanswered questions whether a call by a user's programs is allowed
  /// (page Access in Usher.docc, "A person agrees").
  package var openConfirmationsPerUser = 64
  /// The maximum number of remembered answers to questions about the calls of one user's programs.
  package var rememberedConfirmationsPerUser = 4096
  /// The number of bytes of unread replies on a connection at which the daemon stops reading from
  /// it.
  package var unreadReplyBytes = 1_048_576
  /// The number of seconds for which the unread replies of a connection may stay at the limit
  /// `unreadReplyBytes` before the daemon closes the connection.
  package var unreadReplySeconds = 5
  /// The number of seconds for which a stopping daemon waits for calls in flight (page Service in
  /// Usher.docc, "Stopping, and starting again").
  package var drainSeconds = 10
  /// The minimum number of seconds between two forced refreshes of one account.
  package var forceRefreshSeconds = 10
  /// The maximum number of events queued for a subscriber that does not read. When the queue
  /// overflows, events are dropped and the subscriber is notified.
  package var eventQueue = 256
  /// The maximum number of accounts in memory; other accounts are read from disk on demand.
  package var accountsInMemory = 10_000
  /// The maximum number of accounts in a reply that lists accounts. `UsherClient` accepts replies
  /// of 8 MiB, which is the size of 2000 accounts of 4 KiB each.
  package var accountsInList = 2000
  /// The number of days for which the `requestId` of a `flow.start` cannot be used again.
  package var requestIdDays = 30
  /// The number of hours for which a finished flow and its result are kept.
  package var finishedFlowHours = 24
  /// The maximum number of finished flows kept for one user; beyond it the oldest are removed.
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
      table.reportProblem("admin_reserve", "must be less than connections, which is \(connections)")
    }
  }
}
