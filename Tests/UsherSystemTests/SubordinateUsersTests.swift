import Testing

@testable import UsherSystem

@Suite("Subordinate ids")
struct SubordinateUsersTests {
  private let users = SubordinateUsers(
    """
    anna:100000:65536
    # a comment, and lines that are none
    bert:x:1
    1001:300000:10
    unknown:200000:10
    last:4294967290:100
    """,
    user: { ["anna": 1000, "last": 1002][$0] })

  @Test(
    "an id in a range is its owner's, and any other is its own",
    arguments: [
      (0, 0), (1000, 1000), (99_999, 99_999), (100_000, 1000), (165_535, 1000),
      (165_536, 165_536), (300_000, 1001), (300_009, 1001), (300_010, 300_010),
      (4_294_967_290, 1002), (4_294_967_295, 1002),
    ] as [(UInt32, UInt32)])
  func owners(id: UInt32, owner: UInt32) {
    #expect(users.owner(of: id) == owner)
  }

  @Test("a range of a user that is unknown is one user all the same")
  func unknown() {
    #expect(users.owner(of: 200_000) == users.owner(of: 200_009))
    #expect(users.owner(of: 200_010) == 200_010)
  }

  @Test("an id belongs to the user whose range has it, also behind a range within that range")
  func overlapping() {
    let users = SubordinateUsers("1000:100000:1000\n1001:100100:10\n1002:100200:10\n")
    #expect(users.owner(of: 100_105) == 1001)
    #expect(users.owner(of: 100_150) == 1000)
    #expect(users.owner(of: 100_999) == 1000)
    #expect(users.owner(of: 101_000) == 101_000)
  }

  @Test("an id of a user that is unknown is a subordinate id, also the first of the range")
  func subordinates() {
    #expect(users.user(ofSubordinate: 200_000) == 200_000)
    #expect(users.user(ofSubordinate: 100_001) == 1000)
    #expect(users.user(ofSubordinate: 1000) == nil)
  }

  @Test("a file that cannot be read is not one without subordinate ids")
  func unreadable() {
    #expect(SubordinateUsers.ofSystem(path: "/") == nil)
  }

  @Test("a machine without the file has no subordinate ids")
  func none() {
    #expect(SubordinateUsers.ofSystem(path: "/nonexistent") == SubordinateUsers())
    #expect(SubordinateUsers().owner(of: 7) == 7)
  }
}
