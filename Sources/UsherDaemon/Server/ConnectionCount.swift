import Synchronization
import UsherConfig
import UsherCore

/// Number of open connections of local callers, in total and per user. A few connections are
/// reserved for the admin socket.
final class ConnectionCount: Sendable {
  private struct State {
    var all = 0
    var byUser: [UInt32: Int] = [:]
    var unauthorized = 0
  }

  private let configStore: ConfigStore
  private let state = Mutex(State())

  /// - Parameter configStore: The source of the currently configured limits.
  init(_ configStore: ConfigStore) { self.configStore = configStore }

  /// Counts a new connection.
  ///
  /// - Throws: `overloaded` naming the limit that is reached; the connection is then not counted.
  func add(_ uid: UInt32, isAdmin: Bool) throws(UsherError) {
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

  /// Counts a connection, which ``add(_:isAdmin:)`` has counted for its user, also among those of
  /// callers without rights.
  ///
  /// One person can connect as many users (subordinate ids), so all callers without rights share
  /// one limit.
  ///
  /// - Throws: `overloaded` naming the limit; the connection is then not counted here.
  func addUnauthorized() throws(UsherError) {
    let most = configStore.current.config.limits.unauthorizedConnections
    let isCounted = state.withLock { state in
      guard state.unauthorized < most else { return false }
      state.unauthorized += 1
      return true
    }
    guard !isCounted else { return }
    throw UsherError(
      .overloaded,
      "callers without rights already have \(most) connections", limit: "unauthorized_connections")
  }

  func removeUnauthorized() { state.withLock { $0.unauthorized -= 1 } }

  func remove(_ uid: UInt32) {
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
