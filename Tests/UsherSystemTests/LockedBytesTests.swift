import CSystemd
import FoundationEssentials
import Glibc
import Testing

@testable import UsherSystem

@Suite("Locked memory for secrets")
struct LockedBytesTests {
  /// The flags the kernel reports for the mapping that holds `address`: proc(5), VmFlags.
  private static func flags(of address: UInt) throws -> Set<Substring> {
    let file = try Descriptor.open("/proc/self/smaps", O_RDONLY)
    let maps = String(decoding: try file.read(atMost: 16 << 20), as: UTF8.self)
    var isOurs = false
    for line in maps.split(separator: "\n") {
      if line.hasPrefix("VmFlags:"), isOurs { return Set(line.split(separator: " ").dropFirst()) }
      let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap {
        UInt($0, radix: 16)
      }
      if bounds.count == 2 { isOurs = (bounds[0]..<bounds[1]).contains(address) }
    }
    return []
  }

  private static func address(of bytes: LockedBytes) -> UInt {
    bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
  }

  @Test("locked bytes are zero at first and hold the written value")
  func holds() throws {
    let bytes = try LockedBytes(count: 5000) { buffer in
      #expect(buffer.allSatisfy { $0 == 0 })
      buffer[4999] = 42
    }
    #expect(bytes.count == 5000)
    #expect(bytes.withUnsafeBytes { $0.count } == 5000)
    #expect(bytes.withUnsafeBytes { $0[4999] } == 42)
  }

  @Test("the kernel keeps locked bytes out of swap, core dumps and forked children")
  func advice() throws {
    let bytes = try LockedBytes(count: 32) { $0[0] = 1 }
    let flags = try Self.flags(of: Self.address(of: bytes))
    #expect(bytes.isLocked == flags.contains("lo"))
    #expect(bytes.isExcludedFromDumps)
    #expect(flags.contains("dd"))
    #expect(flags.contains("wf"))
  }

  @Test("if the kernel refuses the memory lock, the bytes work and report that they are unlocked")
  func refusedLock() async {
    await #expect(processExitsWith: .success) {
      // RLIMIT_MEMLOCK does not bind root, so the process becomes an unprivileged user first.
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      try #require(setrlimit(CInt(__RLIMIT_MEMLOCK.rawValue), &none) == 0)
      if geteuid() == 0 { try #require(setuid(65534) == 0) }
      let bytes = try LockedBytes(count: 32) { $0[0] = 1 }
      #expect(!bytes.isLocked)
      #expect(bytes.withUnsafeBytes { $0[0] } == 1)
    }
  }

  @Test("the mapping of locked bytes is released with their last reference")
  func givenBack() async {
    // In a process of its own, so that no other test maps memory at the same address.
    await #expect(processExitsWith: .success) {
      var bytes: LockedBytes? = try LockedBytes(count: 32) { $0[0] = 1 }
      let address = try Self.address(of: #require(bytes))
      let before = try Self.flags(of: address)
      bytes = nil
      let after = try Self.flags(of: address)
      #expect(before.contains("wf") && !after.contains("wf"))
    }
  }

  @Test("locked bytes do not print their contents")
  func silent() throws {
    let bytes = try LockedBytes(count: 3) { $0.copyBytes(from: Array("abc".utf8)) }
    #expect("\(bytes)" == "<secret>")
    #expect(String(reflecting: bytes).contains("abc") == false)
    #expect(Mirror(reflecting: bytes).children.isEmpty)
  }

  @Test("an error while locked bytes are filled is thrown on")
  func failingFill() {
    struct Failure: Error {}
    #expect(throws: Failure.self) { try LockedBytes(count: 3) { _ in throw Failure() } }
  }
}

@Suite("Hardening of the process")
struct ProcessHardeningTests {
  @Test("hardening turns off dumps and core files, and sets umask 077")
  func applied() async {
    await #expect(processExitsWith: .success) {
      #expect(ProcessHardening.apply() == [])
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
      #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
      #expect(umask(0) == 0o077)
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      #expect(status.contains("CoreDumping:\t0"))
      #expect(usher_is_dumpable() == 0)
    }
  }
}
