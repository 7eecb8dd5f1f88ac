import Glibc
package import UsherConfig
import UsherCore

extension PrincipalResolver {
  /// The users and groups of this machine, as the C library knows them.
  package static let machine = PrincipalResolver(
    user: { getpwnam($0)?.pointee.pw_uid }, group: { getgrnam($0)?.pointee.gr_gid },
    groups: { uid in
      guard let entry = getpwuid(uid)?.pointee, let name = entry.pw_name else { return [] }
      // As many as the kernel lets a process have (NGROUPS_MAX, limits.h).
      var count = CInt(65_536)
      var groups = [gid_t](repeating: 0, count: Int(count))
      getgrouplist(name, entry.pw_gid, &groups, &count)
      return Array(groups.prefix(Int(count)))
    },
    members: { group in
      var names: [String] = []
      var member = getgrgid(group)?.pointee.gr_mem
      while let name = member?.pointee {
        names.append(String(cString: name))
        member = member?.successor()
      }
      return names.compactMap { getpwnam($0)?.pointee.pw_uid }
    })
}
