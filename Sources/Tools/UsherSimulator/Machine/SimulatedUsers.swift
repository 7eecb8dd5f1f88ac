import Glibc
import UsherConfig
import UsherCore
import UsherDaemon
import UsherSystem

/// The users of the simulated machine.
enum SimulatedUsers {
  static let names: [UInt32: String] = [1001: "anna", 1002: "ben", 1003: "cleo"]
  /// The group `usher`, which may use the daemon. All users are members.
  static let group: UInt32 = 500
  /// The user of the daemon.
  static let daemon: UInt32 = 900

  static let database = UserDatabase(
    user: { names[$0].map { .named($0) } ?? .nameless }, isLocal: { names[$0] != nil },
    principals: PrincipalResolver(
      user: { name in names.first { $0.value == name }?.key },
      group: { $0 == "usher" ? group : nil }, groups: { [$0, group] },
      members: { _ in names.keys.sorted() }),
    subordinates: { SubordinateUsers([]) { _ in nil } })
}

/// The identity of a simulated client. The client binds its socket to an abstract name that has it,
/// because all clients are this process.
struct ClientIdentity {
  /// The number of the run among those of this process.
  let run: Int
  let uid: UInt32
  let client: Int
  let connection: Int

  /// The name, unique on the machine, without the NUL that makes it abstract (unix(7)).
  var socketName: String { "usher-sim/\(getpid())/\(run)/\(uid)/\(client)/\(connection)" }

  var peer: Peer {
    let identity = Peer.Identity(
      unit: "client-\(client).service", executable: "/usr/bin/client-\(client)",
      isUnitKnown: true, isExecutableKnown: true)
    return Peer(
      uid: uid, gid: uid, groups: uid == 0 ? [] : [SimulatedUsers.group], pid: Int32(2000 + client),
      origin: .socket,
      identity: identity)
  }

  /// Reads the identity from the name of the peer of a connection.
  init?(peerOf descriptor: CInt) {
    var address = sockaddr_un()
    var length = socklen_t(MemoryLayout.size(ofValue: address))
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getpeername(descriptor, $0, &length)
      }
    }
    guard result == 0 else { return nil }
    let count = Int(length) - MemoryLayout<sa_family_t>.size
    let name = withUnsafeBytes(of: &address.sun_path) { path in
      String(decoding: path.prefix(count).dropFirst(), as: UTF8.self)
    }
    let words = name.split(separator: "/")
    guard words.count == 6, words[0] == "usher-sim", let run = Int(words[2]),
      let uid = UInt32(words[3]), let client = Int(words[4]), let connection = Int(words[5])
    else { return nil }
    self.init(run: run, uid: uid, client: client, connection: connection)
  }

  init(run: Int, uid: UInt32, client: Int, connection: Int) {
    self.run = run
    self.uid = uid
    self.client = client
    self.connection = connection
  }
}

extension LocalSockets {
  /// Gives the peers of connections the identities of simulated clients, and tells the kernel which
  /// sockets are the machine's.
  mutating func simulate(by kernel: SimulatedKernel) {
    let bind = bind
    self.bind = { path, mode in
      let listener = try bind(path, mode)
      kernel.ownSocket(listener)
      return listener
    }
    user = { descriptor throws(UsherError) in
      kernel.ownSocket(descriptor)
      return try Self.identity(descriptor).uid
    }
    peer = { descriptor throws(UsherError) in try Self.identity(descriptor).peer }
    tellsPeerByDescriptor = { true }
  }

  private static func identity(_ descriptor: CInt) throws(UsherError) -> ClientIdentity {
    guard let identity = ClientIdentity(peerOf: descriptor) else {
      throw UsherError(.internalError, "the connection is not a simulated client's")
    }
    return identity
  }
}
