import Dispatch
import Glibc
import Synchronization

@testable import UsherSystem

extension FuzzTarget {
  /// The client of fprintd ends in time with a result, or with an error whose text is one short
  /// line, whatever messages the bus delivers. An input is the bytes that the bus sends after its
  /// reply to the client's first call.
  static let bus = FuzzTarget("bus", words: ["UsherSystem/Fingerprint"]) { input in
    SampleBus.shared.messages.withLock { $0 = input }
    let start = ContinuousClock.now
    do throws(FingerprintError) {
      guard let interruption = try? Interruption() else { return }
      let device = try FprintDevice(
        address: SampleBus.shared.address, interruption: interruption,
        callLimit: .milliseconds(200))
      _ = try device.enrolledFingers(of: "anna")
      _ = try device.verify(user: "anna", until: .now + .milliseconds(200)) { _ in }
    } catch {
      try checkTexts(of: error)
    }
    try require(ContinuousClock.now - start < .seconds(10), "the client does not end in time")
  }
}

private func checkTexts(of error: FingerprintError) throws {
  switch error {
  case .notPermitted(let text), .unavailable(let text):
    try requireShowable(text, "the error")
    // Each of 200 characters may be escaped.
    try require(text.utf8.count < 200 * 12, "the error has \(text.utf8.count) bytes")
  case .noReader, .notEnrolled, .inUse, .unplugged, .cancelled, .timedOut: break
  }
}

/// A message bus that sends the same messages to each client: the handshake, the reply to the
/// client's call of `Hello`, and then the bytes of an input.
private final class SampleBus: Sendable {
  static let shared = SampleBus()

  let messages = Mutex<[UInt8]>([])
  /// The address of the bus as in the D-Bus Specification, "Server Addresses".
  let address: String
  private let listener: CInt

  private init() {
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    var length = socklen_t(MemoryLayout<sa_family_t>.size)
    // An address without a path makes the kernel choose a free name.
    let isBound = withUnsafeMutablePointer(to: &name) { name in
      name.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(listener, address, length) == 0, listen(listener, 16) == 0 else { return false }
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        return getsockname(listener, address, &length) == 0
      }
    }
    guard isBound else { fatalError("the sample of a message bus cannot listen: \(errno)") }
    self.listener = listener
    // The name follows a zero byte.
    let path = withUnsafeBytes(of: name.sun_path) { Array($0) }
    let end = Int(length) - MemoryLayout<sa_family_t>.size
    address = "unix:abstract=" + String(decoding: path[1..<end], as: UTF8.self)
    DispatchQueue(label: "fuzz.bus").async { [self] in serve() }
  }

  private func serve() -> Never {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { continue }
      let bytes = Self.handshake + Self.helloReply + messages.withLock { $0 }
      _ = send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      shutdown(client, Int32(SHUT_WR))
      var received = [UInt8](repeating: 0, count: 4096)
      while read(client, &received, received.count) > 0 {}
      close(client)
    }
  }

  private static let handshake = Array(
    "DATA\r\nOK 0123456789abcdef0123456789abcdef\r\n".utf8)

  /// A method return for the message 1 from org.freedesktop.DBus with the body `:1.7`.
  private static let helloReply: [UInt8] = {
    var message: [UInt8] = [UInt8(ascii: "l"), 2, 1, 1, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    message += [5, 1, UInt8(ascii: "u"), 0, 1, 0, 0, 0]
    message += [8, 1, UInt8(ascii: "g"), 0, 1, UInt8(ascii: "s"), 0, 0]
    message += [7, 1, UInt8(ascii: "s"), 0, 20, 0, 0, 0] + Array("org.freedesktop.DBus".utf8) + [0]
    message[12] = UInt8(message.count - 16)
    while message.count % 8 != 0 { message.append(0) }
    return message + [4, 0, 0, 0] + Array(":1.7".utf8) + [0]
  }()
}
