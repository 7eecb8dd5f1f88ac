import Glibc

/// Parses the kernel's list of TCP sockets: `/proc/net/tcp` and `tcp6`, proc(5).
enum ConnectionTable {
  /// Returns the text of one of the kernel's socket lists, such as `/proc/net/tcp`. Nil if the file
  /// cannot be read or has 16 MiB or more (a hundred thousand sockets).
  static func text(of path: String) -> String? {
    let limit = 16 << 20
    guard let file = try? Descriptor.open(path, O_RDONLY),
      let bytes = try? file.read(atMost: limit), bytes.count < limit
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the uid of the socket with the local end `client` and the remote end `server`.
  ///
  /// Lines with inode 0 are skipped: such a socket belongs to no process, and its uid has no
  /// meaning.
  static func owner(
    in text: String, client: LoopbackPeer.Endpoint, server: LoopbackPeer.Endpoint
  ) -> UInt32? {
    for line in text.split(separator: "\n").dropFirst() {
      let columns = line.split(separator: " ", maxSplits: 10)
      guard columns.count > 9, endpoint(columns[1]) == client, endpoint(columns[2]) == server
      else { continue }
      guard columns[3] != listening, columns[3] != timeWait, columns[9] != "0" else { continue }
      return UInt32(columns[7])
    }
    return nil
  }

  /// Returns the uids of the sockets that listen at `server`, or at the wildcard address with the
  /// port of `server`.
  static func listeners(in text: String, at server: LoopbackPeer.Endpoint) -> Set<UInt32> {
    var users: Set<UInt32> = []
    for line in text.split(separator: "\n").dropFirst() {
      let columns = line.split(separator: " ", maxSplits: 10)
      guard columns.count > 9, columns[3] == listening, let place = endpoint(columns[1]),
        place.port == server.port, place == server || place.isWildcard
      else { continue }
      if let user = UInt32(columns[7]) { users.insert(user) }
    }
    return users
  }

  private static let listening = "0A"
  private static let timeWait = "06"

  /// Parses an endpoint such as `0100007F:1F90`: the address as 32-bit words in the machine's byte
  /// order, then the port, all hexadecimal.
  private static func endpoint(_ column: Substring) -> LoopbackPeer.Endpoint? {
    let halves = column.split(separator: ":")
    guard halves.count == 2, let port = UInt16(halves[1], radix: 16) else { return nil }
    var words = halves[0]
    var bytes: [UInt8] = []
    while !words.isEmpty {
      guard let word = UInt32(words.prefix(8), radix: 16) else { return nil }
      withUnsafeBytes(of: word) { bytes.append(contentsOf: $0) }
      words = words.dropFirst(8)
    }
    return LoopbackPeer.Endpoint(bytes: bytes, port: port)
  }
}

extension LoopbackPeer.Endpoint {
  /// Creates an endpoint from 4 or 16 address bytes. Nil for any other number.
  init?(bytes: [UInt8], port: UInt16) {
    switch bytes.count {
    case 4: address = Self.mapped + bytes
    case 16: address = bytes
    default: return nil
    }
    self.port = port
  }
}
