import Synchronization
package import UsherCore

/// Number of open connections of local callers, in total and per user. A few connections are
/// reserved for the admin socket.
package final class ConnectionCount: Sendable {
  /// The maximum numbers of connections at the same time.
  package struct Limits: Sendable {
    /// The connections of all users together.
    let all: Int
    /// The number of the connections in `all` that only callers on the admin socket may use.
    let adminReserve: Int
    /// The connections of one user.
    let perUser: Int
    /// The connections of all callers whom no authorization rule grants anything, together.
    let unauthorized: Int

    package init(all: Int, adminReserve: Int, perUser: Int, unauthorized: Int) {
      self.all = all
      self.adminReserve = adminReserve
      self.perUser = perUser
      self.unauthorized = unauthorized
    }
  }

  private struct State {
    var all = 0
    var byUser: [UInt32: Int] = [:]
    var unauthorized = 0
  }

  private let limits: @Sendable () -> Limits
  private let state = Mutex(State())

  /// - Parameter limits: Returns the currently configured limits.
  package init(_ limits: @escaping @Sendable () -> Limits) { self.limits = limits }

  /// Counts a new connection.
  ///
  /// - Throws: `overloaded` naming the limit that is reached; the connection is then not counted.
  package func add(_ uid: UInt32, isAdmin: Bool) throws(UsherError) {
    let limits = limits()
    let reached: String? = state.withLock { state in
      let room = isAdmin ? limits.all : limits.all - limits.adminReserve
      guard state.all < room else { return "connections" }
      guard isAdmin || state.byUser[uid, default: 0] < limits.perUser else {
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
  package func addUnauthorized() throws(UsherError) {
    let most = limits().unauthorized
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

  package func removeUnauthorized() { state.withLock { $0.unauthorized -= 1 } }

  package func remove(_ uid: UInt32) {
    state.withLock { state in
      state.all -= 1
      state.byUser[uid, default: 1] -= 1
      if state.byUser[uid] == 0 { state.byUser[uid] = nil }
    }
  }

  package func count(of uid: UInt32?) -> Int {
    state.withLock { state in uid.map { state.byUser[$0] ?? 0 } ?? state.all }
  }
}
