/* routes.c - the routes of a connection, and the check that a message arrived along one of them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"

void cm_routes_begin(struct cm_conn *conn, const struct cm_route *route)
{
	conn->routes.request = conn->routes.send = *route;
}

static bool came_along(const struct cm_path *path, const struct cm_route *route)
{
	return memcmp(path->remote_gid, route->dest, 16) == 0 && memcmp(path->local_gid, route->source, 16) == 0;
}

bool cm_came_from_peer(const struct cm_conn *conn, const struct cm_route *route)
{
	return route_is_same(&conn->routes.send, route) || route_is_same(&conn->routes.request, route) ||
	       came_along(&conn->lap.path, route);
}

void cm_routes_follow(struct cm_conn *conn, const struct cm_route *route)
{
	if (!route_is_same(&conn->routes.send, route))
		conn->routes.send = *route;
}

void cm_qp_migrated(struct cm *cm, uint32_t connection, const struct cm_route *route)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	if (conn)
		conn->routes.send = *route;
}
