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
    (try? TestSocket(boundTo: .loopback(port: UInt16(port)))) != nil
  }
}
