import Synchronization
import UsherConfig
import UsherCore

/// Number of open connections, in total and per user; a few are reserved for the admin socket.
final class ConnectionCount: Sendable {
  private struct State {
    var all = 0
    var byUser: [UInt32: Int] = [:]
    var unauthorized = 0
  }

  private let configStore: ConfigStore
  private let state = Mutex(State())

  init(_ configStore: ConfigStore) { self.configStore = configStore }

  /// Counts a new connection.
  ///
  /// - Throws: `overloaded` naming the limit; the connection is then not counted.
  func enter(_ uid: UInt32, isAdmin: Bool) throws(UsherError) {
    let limits = configStore.current.config.limits
    let reached: String? = state.withLock { state in
      let room = isAdmin ? limits.connections : limits.connections - limits.adminReserve
      guard state.all < room else { return "connections" }
      guard isAdmin || state.byUser[uid, default: 0] < limits.connectionsPerUser else {
        return "connections_per_user"
      }
      state.all += 1
      state.byUser[uid, default: 0] += 1
      return nil
    }
    guard let reached else { return }
    throw UsherError(.overloaded, "there are too many connections: \(reached)", limit: reached)
  }

  /// Counts a connection, which is already counted for its user, among those of callers without
  /// rights.
  ///
  /// One such caller can act as many users (subordinate ids), so these callers share one limit.
  ///
  /// - Throws: `overloaded` naming the limit; the connection is then not counted here.
  func enterUnauthorized() throws(UsherError) {
    let most = configStore.current.config.limits.unauthorizedConnections
    let isIn = state.withLock { state in
      guard state.unauthorized < most else { return false }
      state.unauthorized += 1
      return true
    }
    guard !isIn else { return }
    throw UsherError(
      .overloaded,
      "callers without rights already have \(most) connections", limit: "unauthorized_connections")
  }

  func leaveUnauthorized() { state.withLock { $0.unauthorized -= 1 } }

  func leave(_ uid: UInt32) {
    state.withLock { state in
      state.all -= 1
      state.byUser[uid, default: 1] -= 1
      if state.byUser[uid] == 0 { state.byUser[uid] = nil }
    }
  }

  func count(of uid: UInt32?) -> Int {
    state.withLock { state in uid.map { state.byUser[$0] ?? 0 } ?? state.all }
  }
}
