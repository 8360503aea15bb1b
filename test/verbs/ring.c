/* ring.c - a program of MPI: each rank tells itself its number, then one number goes around */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, ranks, heard = -1, number = 1;
	MPI_Request sent;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Isend(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &sent);
	MPI_Recv(&heard, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&sent, MPI_STATUS_IGNORE);
	if (rank > 0) {
		MPI_Recv(&number, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		number++;
	}
	MPI_Send(&number, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Recv(&number, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	printf("rank %d of %d heard itself say %d, and has number %d\n", rank, ranks, heard, number);
	MPI_Finalize();
	return heard != rank;
}
