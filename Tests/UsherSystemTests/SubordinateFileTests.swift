import Testing
import UsherCore

import var Glibc.ECONNREFUSED

@testable import UsherSystem

@Suite("File of subordinate user ids")
struct SubordinateFileTests {
  private func read(_ text: String) -> SubordinateUsers {
    SubordinateUsers(Array(text.utf8)) { name throws(Errno) in
      switch name {
      case "anna": return 1000
      case "bob": return 1001
      case "far": throw Errno(ECONNREFUSED)
      default: return nil
      }
    }
  }

  @Test(
    "a subordinate id range is read in every spelling that newuidmap accepts",
    arguments: [
      "anna:300000:65536", "bob:500000:10\r\nanna:300000:65536\r\n", "anna:300000:65536 \n",
      "anna: 300000:\t65536", "anna:+300000:+65536", "anna:01111740:0200000",
      "anna:0x493e0:0x10000", "anna:0X493E0:0X10000", "anna:0b1001001001111100000:65536",
      "anna:300000:4294967296", "anna:300000:99999999999999999999999999", "anna:0:4294967295",
      "anna:300000:4294967295", "anna:300000:65536:", "wrong\nanna:300000:65536",
      "\n# bob:300000:1\n\nanna:300000:65536", "\u{0}\nanna:300000:65536", "1000:300000:65536",
    ])
  func spellings(text: String) {
    let users = read(text)
    for uid: UInt32 in [300_000, 365_535] {
      #expect(users.owners(ofSubordinate: uid) == [.user(1000)])
      #expect(users.owner(of: uid) == 1000)
    }
  }

  @Test("a subordinate id line that is not UTF-8 does not affect the other lines")
  func notUTF8() {
    let bytes: [UInt8] = [0xFF, 0xFE] + Array(":200000:1\nanna:300000:65536\n".utf8)
    let users = SubordinateUsers(bytes) { $0 == "anna" ? 1000 : nil }
    #expect(users.owners(ofSubordinate: 300_000) == [.user(1000)])
    #expect(users.owners(ofSubordinate: 200_000) == [.unknown])
  }

  @Test(
    "a malformed subordinate id line is reported by its number",
    arguments: [
      "anna", "anna:1", "anna::1", ":300000:1", "anna:300000:", "anna:x:1", "anna:0x:1",
      "anna:08:1",
      "anna:-1:1", "anna:300000:-1", "anna:4294967296:1", "anna:1 2:1", "a\u{0}nna:300000:1",
    ])
  func malformed(line: String) {
    let gaps = read("anna:200000:1\n\n\(line)\n# comment\nbob:0:0\n").gaps
    #expect(gaps.warnings.count == 1)
    #expect(gaps.warnings.first?.hasSuffix(": 3") == true, "\(gaps.warnings)")
  }

  @Test("a report of malformed lines names eight of them and counts the rest")
  func manyMalformed() {
    let warnings = read(String(repeating: "wrong\n", count: 1000)).gaps.warnings
    #expect(warnings.first?.hasSuffix(": 1, 2, 3, 4, 5, 6, 7, 8 and 992 more") == true)
  }

  @Test("comments, empty lines and empty ranges of subordinate ids are not reported")
  func wellFormed() {
    #expect(read("").gaps.isEmpty)
    #expect(read("\n\r\n  \n# comment: \n  # another\nanna:300000:0\nghost:1:1\n").gaps.isEmpty)
  }

  @Test("an id in the ranges of two users has both as owners, and is charged to the first")
  func overlapping() {
    let both: Set<SubordinateOwner> = [.user(1000), .user(1001)]
    for text in [
      "anna:300000:65536\nbob:300000:65536", "bob:300000:65536\nanna:300000:65536",
      "anna:200000:200000\nbob:300000:10", "bob:200000:200000\nanna:300000:10",
    ] {
      let users = read(text)
      let owners = users.owners(ofSubordinate: 300_005)
      #expect(owners.count == 2 && Set(owners) == both, "\(text)")
      #expect(owners.first == .user(users.owner(of: 300_005)))
    }
    #expect(read("anna:1:9\nanna:2:9").owners(ofSubordinate: 5) == [.user(1000)])
  }

  @Test("a subordinate id of an unknown user has an unknown owner, also beside a known one")
  func unknownOwner() {
    for name in ["ghost", "far"] {
      let alone = read("\(name):300000:10")
      #expect(alone.owners(ofSubordinate: 300_000) == [.unknown])
      #expect(alone.owners(ofSubordinate: 300_009) == [.unknown])
      #expect(alone.owners(ofSubordinate: 300_010) == [])
      #expect(alone.owner(of: 300_009) == alone.owner(of: 300_000))
      let beside = read("anna:300000:10\n\(name):300005:10")
      #expect(beside.owners(ofSubordinate: 300_007) == [.unknown, .user(1000)])
      #expect(beside.owner(of: 300_007) == 1000, "the id is charged to the known owner")
    }
    #expect(read("ghost:300000:10").gaps.isEmpty)
    let warnings = read("far:300000:10").gaps.warnings
    #expect(warnings.first?.hasSuffix(": far (Connection refused)") == true, "\(warnings)")
  }

  @Test("a cut-off file keeps its first ranges; other high ids have an unknown owner")
  func tooLong() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write(
      Array("1000:300000:10\n1001:400000:10\n".utf8), to: "subuid")
    let whole = try #require(SubordinateUsers.ofSystem(path: path))
    #expect(whole.gaps.isEmpty)
    #expect(whole.owners(ofSubordinate: 500_000) == [])
    let cut = try #require(SubordinateUsers.ofSystem(path: path, atMost: 20))
    #expect(cut.gaps.warnings.count == 1)
    #expect(cut.owners(ofSubordinate: 300_000) == [.user(1000)])
    #expect(cut.owners(ofSubordinate: 400_000) == [.unknown])
    #expect(cut.owners(ofSubordinate: 65_535) == [])
  }
}
