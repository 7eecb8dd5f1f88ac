import Glibc
import UsherCore

/// The address of a Unix socket in the kernel's format: `sockaddr_un`, unix(7).
struct UnixAddress {
  private var storage = sockaddr_un()

  /// Creates the address of a file system path.
  ///
  /// - Throws: `internalError` if the path is empty, contains a NUL or does not fit into `sun_path`
  ///   (107 bytes).
  init(path: String) throws {
    let limit = MemoryLayout.size(ofValue: storage.sun_path) - 1
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, !bytes.contains(0) else {
      throw UsherError(.internalError, "a socket path must not be empty or contain a NUL")
    }
    guard bytes.count <= limit else {
      throw UsherError(
        .internalError,
        "the socket path \(path) has \(bytes.count) bytes, "
          + "and the kernel accepts at most \(limit)"
      )
    }
    storage.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &storage.sun_path) { $0.copyBytes(from: bytes) }
  }

  func bind(_ descriptor: borrowing Descriptor) throws(Errno) {
    let raw = descriptor.raw
    guard withSockaddr({ Glibc.bind(raw, $0, $1) }) == 0 else { throw .last }
  }

  func connect(_ descriptor: borrowing Descriptor) throws(Errno) {
    let raw = descriptor.raw
    guard withSockaddr({ Glibc.connect(raw, $0, $1) }) == 0 else { throw .last }
  }

  private func withSockaddr(_ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    withUnsafeBytes(of: storage) { bytes in
      guard let address = bytes.baseAddress else { return -1 }
      return call(address.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}
