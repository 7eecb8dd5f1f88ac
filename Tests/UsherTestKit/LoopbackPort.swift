import Glibc
import Synchronization

/// TCP ports of 127.0.0.1 for the listeners of tests.
package enum LoopbackPort {
  private static let handedOut = Mutex<Set<Int>>([])

  /// Returns a free port, a different one for each call.
  ///
  /// The port is below the range from which the kernel assigns ports, so no other test gets it
  /// before the caller listens.
  ///
  /// - Throws: ``TestError`` if 100 random ports are all in use.
  package static func unused() throws -> Int {
    for _ in 0..<100 {
      let port = Int.random(in: 10_000..<30_000)
      if isUnused(port), handedOut.withLock({ $0.insert(port).inserted }) { return port }
    }
    throw TestError("found no unused TCP port of 127.0.0.1")
  }

  private static func isUnused(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    } == 0
  }
}
