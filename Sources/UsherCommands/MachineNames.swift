import Glibc
package import UsherConfig
import UsherCore

extension PrincipalResolver {
  /// The resolver for the users and groups of this machine, which uses the C library.
  package static let machine = PrincipalResolver(
    user: { getpwnam($0)?.pointee.pw_uid }, group: { getgrnam($0)?.pointee.gr_gid },
    groups: { uid in
      guard let entry = getpwuid(uid)?.pointee, let name = entry.pw_name else { return [] }
      // NGROUPS_MAX of limits.h, the kernel's limit for the number of a process's groups.
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
