import NIOCore
import Synchronization
import UsherConfig
import UsherCore
import UsherSystem

/// The peer of a connection, as the kernel identified it when the connection was accepted.
/// ``Caller`` adds the peer's rights under the policy rules.
struct PeerIdentity: Sendable {
  let identity: CallerIdentity
  /// The process id, for the audit log only.
  var pid: Int32 = 0
  /// The systemd invocation ID of the peer's unit, for the audit log only.
  var invocation: String?
  let isAdmin: Bool
  let realm: String
  /// The time at which the connection was accepted, by the monotonic clock; nil without a
  /// connection.
  var connectedAt: Timestamp?
}

extension PeerIdentity {
  /// - Parameter owners: The users to whom the peer's uid may belong as a subordinate id; empty if
  ///   the uid is not subordinate.
  init(
    _ peer: Peer, isAdmin: Bool, realm: String, subordinateTo owners: [SubordinateOwner] = [],
    connectedAt: Timestamp?
  ) {
    let known = peer.identity
    self.init(
      identity: CallerIdentity(
        uid: peer.uid, gid: peer.gid, groups: peer.groups, unit: known.unit,
        executable: known.executable, isUnitKnown: known.isUnitKnown,
        isExecutableKnown: known.isExecutableKnown, subordinateTo: owners),
      pid: peer.pid, invocation: known.invocation, isAdmin: isAdmin, realm: realm,
      connectedAt: connectedAt)
  }
}

/// The caller of one connection under the current policy rules. Computed again after a reload has
/// changed the rules.
final class CallerCache: Sendable {
  private struct State {
    var generation: Int
    var caller: Caller

    init(_ connectingPeer: PeerIdentity, _ snapshot: ConfigSnapshot) {
      generation = snapshot.generation
      caller = Caller(connectingPeer, policy: snapshot.policy)
    }
  }

  private let connectingPeer: PeerIdentity
  private let configStore: ConfigStore
  private let state: Mutex<State>

  init(_ connectingPeer: PeerIdentity, _ configStore: ConfigStore) {
    self.connectingPeer = connectingPeer
    self.configStore = configStore
    state = Mutex(State(connectingPeer, configStore.current))
  }

  /// The caller under the current policy rules. May be read from any thread.
  var caller: Caller { current.caller }

  /// The caller, and the generation of the configuration whose policy rules apply to it.
  var current: (caller: Caller, generation: Int) {
    state.withLock { state in
      if state.generation != configStore.generation {
        state = State(connectingPeer, configStore.current)
      }
      return (state.caller, state.generation)
    }
  }

  /// Returns the caller and updates `generation` if the configuration has another generation than
  /// `generation`. Otherwise returns nil, at the cost of one atomic read.
  func caller(otherThanAt generation: inout Int) -> Caller? {
    let now = configStore.generation
    guard now != generation else { return nil }
    generation = now
    return caller
  }
}
