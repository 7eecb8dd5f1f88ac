import NIOCore
import Synchronization
import UsherConfig
import UsherCore
import UsherSystem

/// Who is at the other end of a connection, as the kernel said when it was accepted. What the rules
/// make of that is a ``Caller``.
struct PeerIdentity: Sendable {
  let identity: CallerIdentity
  /// For the audit only.
  let pid: Int32
  /// Of the unit; for the audit only.
  let invocation: String?
  let isAdmin: Bool
  let realm: String
  /// When the connection was accepted, by the monotonic clock; nil where there is none.
  let connectedAt: Timestamp?

  /// - Parameter owners: The users that the peer's uid may be a subordinate id of.
  init(
    _ peer: Peer, isAdmin: Bool, realm: String, subordinateTo owners: [SubordinateOwner] = [],
    connectedAt: Timestamp?
  ) {
    let known = peer.identity
    self.init(
      CallerIdentity(
        uid: peer.uid, gid: peer.gid, groups: peer.groups, unit: known.unit,
        executable: known.executable, isUnitTold: !peer.unknown.contains(.unit),
        isExecutableTold: !peer.unknown.contains(.executable), subordinateTo: owners),
      pid: peer.pid, invocation: known.invocation, isAdmin: isAdmin, realm: realm,
      connectedAt: connectedAt)
  }

  init(
    _ identity: CallerIdentity, pid: Int32 = 0, invocation: String? = nil, isAdmin: Bool,
    realm: String, connectedAt: Timestamp? = nil
  ) {
    self.identity = identity
    self.pid = pid
    self.invocation = invocation
    self.isAdmin = isAdmin
    self.realm = realm
    self.connectedAt = connectedAt
  }
}

/// The caller of one connection under the rules that are in force: worked out anew when others are.
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

  /// From any thread.
  var caller: Caller { current.caller }

  /// Also the generation of the settings whose rules they are.
  var current: (caller: Caller, generation: Int) {
    state.withLock { state in
      if state.generation != configStore.generation {
        state = State(connectingPeer, configStore.current)
      }
      return (state.caller, state.generation)
    }
  }

  /// The caller, where it may be another than under the rules of `generation`, which then becomes
  /// that of these; else nil, at the cost of one atomic read.
  func caller(otherThanAt generation: inout Int) -> Caller? {
    let now = configStore.generation
    guard now != generation else { return nil }
    generation = now
    return caller
  }
}
